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


def line(name, count, seconds):
    print(f"{name:52}{count / seconds:12.2f} jobs/s", flush=True)


async def drain(url, batch_size):
    connection = await asyncpg.connect(url)
    queue = PgQueuer(AsyncpgDriver(connection))

    @queue.entrypoint("nothing")
    async def nothing(job):
        pass

    await queue.run(mode=QueueExecutionMode.drain, batch_size=batch_size)
    await connection.close()


async def measure(url, n, chunk, single, batch_size, workers):
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    padding = os.urandom(100).hex().encode()

    start = time.perf_counter()
    for _ in range(n // chunk):
        await queries.enqueue(["nothing"] * chunk, [padding] * chunk, [0] * chunk)
    line(f"enqueue, chunks of {chunk:,}", n, time.perf_counter() - start)

    start = time.perf_counter()
    for _ in range(single):
        await queries.enqueue("nothing", padding)
    line("enqueue one by one", single, time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*(drain(url, batch_size) for _ in range(workers)))
    line(
        f"claim and commit, batches of {batch_size}, workers: {workers}",
        n + single,
        time.perf_counter() - start,
    )
    await connection.close()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("url")
parser.add_argument("--n", type=int, default=100_000)
parser.add_argument("--chunk", type=int, default=1_000)
parser.add_argument("--single", type=int, default=2_000)
parser.add_argument("--batch-size", type=int, default=100)
parser.add_argument("--workers", type=int, default=1)
arguments = parser.parse_args()
uvloop.run(
    measure(
        arguments.url,
        arguments.n,
        arguments.chunk,
        arguments.single,
        arguments.batch_size,
        arguments.workers,
    )
)
