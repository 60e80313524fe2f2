#!/usr/bin/env python3
"""Measures pgqueuer, a queue of durable jobs in Python, as `jobs` measures DurableJobs.

    python3 -m venv /tmp/peer && /tmp/peer/bin/pip install pgqueuer asyncpg uvloop
    createdb peer && /tmp/peer/bin/python pgqueuer_jobs.py postgres:///peer

The database must be empty. Jobs have arguments of 200 bytes, and do nothing.
"""

import argparse
import asyncio
import os
import time

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode


def line(name, value, unit="jobs/s"):
    print(f"{name:52}{value:12.2f} {unit}", flush=True)


def performing(connection, names, begun=None):
    """Returns a queue whose jobs do nothing."""
    queue = PgQueuer(AsyncpgDriver(connection))

    async def nothing(job):
        if begun is not None:
            begun.put_nowait(time.perf_counter())

    for name in names:
        queue.entrypoint(name)(nothing)
    return queue


async def drain(url, batch_size, names):
    connection = await asyncpg.connect(url)
    queue = performing(connection, names)
    await queue.run(mode=QueueExecutionMode.drain, batch_size=batch_size)
    await connection.close()


async def latencies(url, queries, padding):
    """Measures the time from `enqueue` to the start of a job on an idle worker."""
    connection = await asyncpg.connect(url)
    begun = asyncio.Queue()
    queue = performing(connection, ["start"], begun)
    running = asyncio.create_task(queue.run(batch_size=4))
    await asyncio.sleep(1)
    times = []
    for _ in range(200):
        await asyncio.sleep(0.03)
        start = time.perf_counter()
        await queries.enqueue("start", padding)
        times.append((await begun.get() - start) * 1000)
    times.sort()
    line("enqueue → start, other connection, p50", times[100], "ms")
    line("enqueue → start, other connection, p99", times[198], "ms")
    queue.shutdown.set()
    await running
    await connection.close()


async def measure(url, n, chunk, single, batch_size, workers, types):
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    padding = os.urandom(100).hex().encode()
    names = [f"nothing {number}" for number in range(types)]
    line("types", types, "")

    start = time.perf_counter()
    for number in range(n // chunk):
        name = names[number % types]
        await queries.enqueue([name] * chunk, [padding] * chunk, [0] * chunk)
    line(f"enqueue, chunks of {chunk:,}", n / (time.perf_counter() - start))

    start = time.perf_counter()
    for _ in range(single):
        await queries.enqueue(names[0], padding)
    line("enqueue one by one", single / (time.perf_counter() - start))

    start = time.perf_counter()
    await asyncio.gather(*(drain(url, batch_size, names) for _ in range(workers)))
    line(
        f"claim and commit, batches of {batch_size}, workers: {workers}",
        (n + single) / (time.perf_counter() - start),
    )
    await latencies(url, queries, padding)
    await connection.close()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("url")
parser.add_argument("--n", type=int, default=100_000)
parser.add_argument("--chunk", type=int, default=1_000)
parser.add_argument("--single", type=int, default=2_000)
parser.add_argument("--batch-size", type=int, default=100)
parser.add_argument("--workers", type=int, default=1)
parser.add_argument("--types", type=int, default=1)
arguments = parser.parse_args()
uvloop.run(
    measure(
        arguments.url,
        arguments.n,
        arguments.chunk,
        arguments.single,
        arguments.batch_size,
        arguments.workers,
        arguments.types,
    )
)
