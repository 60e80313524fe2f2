// The oneTBB programs of the benchmarks. Independent work uses task_group, and task_arena::enqueue
// where the order is to be kept; graphs use flow::graph with a continue_node for each node. As with
// the other peers, the time includes making, linking, running and destroying.

#include "../workloads.h"

#include <oneapi/tbb.h>
#include <oneapi/tbb/flow_graph.h>

#include <memory>
#include <semaphore.h>

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

using Nodes = std::vector<std::unique_ptr<Node>>;

static Nodes build(tbb::flow::graph &flow, const Graph &graph, uint8_t *bytes) {
    Nodes nodes;
    nodes.reserve(graph.count());
    for (size_t i = 0; i < graph.count(); i++)
        nodes.push_back(std::make_unique<Node>(
            flow, [bytes, i](const tbb::flow::continue_msg &) { bytes[i]++; }));
    for (size_t i = 0; i < graph.count(); i++)
        for (size_t k = graph.starts[i]; k < graph.starts[i + 1]; k++)
            tbb::flow::make_edge(*nodes[graph.list[k]], *nodes[i]);
    return nodes;
}

static void start_and_wait(tbb::flow::graph &flow, const Graph &graph, Nodes &nodes) {
    for (size_t i = 0; i < graph.count(); i++)
        if (graph.starts[i] == graph.starts[i + 1]) nodes[i]->try_put({});
    flow.wait_for_all();
}

static double run(const Graph &graph) {
    Marks marks(graph.count());
    uint8_t *bytes = marks.bytes.data();
    auto start = Clock::now();
    {
        tbb::flow::graph flow;
        Nodes nodes = build(flow, graph, bytes);
        start_and_wait(flow, graph, nodes);
    }
    return since(start);
}

static double again(const Graph &graph, size_t times) {
    Marks marks(graph.count(), times + 1);
    uint8_t *bytes = marks.bytes.data();
    tbb::flow::graph flow;
    Nodes nodes = build(flow, graph, bytes);
    auto once = [&] { start_and_wait(flow, graph, nodes); };
    once();
    auto start = Clock::now();
    for (size_t i = 0; i < times; i++) once();
    return since(start);
}

static double independent(size_t count) {
    Marks marks(count);
    uint8_t *bytes = marks.bytes.data();
    tbb::task_group group;
    auto start = Clock::now();
    for (size_t i = 0; i < count; i++) group.run([bytes, i] { bytes[i]++; });
    group.wait();
    return since(start);
}

// First in, first out, as a queue promises. A task_group runs the newest work first, and the thread
// that waits for it helps.
static double enqueued(size_t count) {
    Marks marks(count);
    uint8_t *bytes = marks.bytes.data();
    tbb::task_arena arena;
    std::atomic<size_t> left{count};
    sem_t done;
    sem_init(&done, 0, 0);
    auto start = Clock::now();
    for (size_t i = 0; i < count; i++)
        arena.enqueue([&, i] {
            bytes[i]++;
            if (left.fetch_sub(1) == 1) sem_post(&done);
        });
    while (sem_wait(&done) != 0) {}
    double duration = since(start);
    sem_destroy(&done);
    return duration;
}

static double produced(size_t count, size_t producers) {
    size_t share = count / producers;
    Marks marks(share * producers);
    uint8_t *bytes = marks.bytes.data();
    tbb::task_group group;
    auto start = produce(producers, [&](size_t p) {
        for (size_t i = p * share; i < (p + 1) * share; i++)
            group.run([bytes, i] { bytes[i]++; });
    });
    group.wait();
    return since(start);
}

// An arena of one thread runs nothing before that thread waits.
static double bytes_queued(size_t count) {
    std::vector<uint8_t> bytes(count, 1);
    tbb::task_arena arena(1);
    double used = 0;
    arena.execute([&] {
        tbb::task_group group;
        double before = resident();
        uint8_t *data = bytes.data();
        for (size_t i = 0; i < count; i++) group.run([data, i] { data[i]++; });
        used = (resident() - before) / (double)count;
        group.wait();
    });
    return used;
}

static void latencies(size_t count) {
    tbb::task_arena arena;
    sem_t done;
    sem_init(&done, 0, 0);
    for (size_t i = 0; i < count; i++) {
        Clock::time_point began;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        auto start = Clock::now();
        arena.enqueue([&] {
            began = Clock::now();
            sem_post(&done);
        });
        sem_wait(&done);
        printf("%.0f ", std::chrono::duration<double, std::nano>(began - start).count());
    }
    puts("");
}

static double blocking(size_t count, int milliseconds) {
    tbb::task_group group;
    auto start = Clock::now();
    for (size_t i = 0; i < count; i++)
        group.run([=] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
    group.wait();
    return since(start);
}

int main(int argc, char **argv) {
    Arguments arguments(argc, argv);
    size_t size = arguments.size;
    if (arguments.workload == "W1m") {
        print(bytes_queued(size));
        return 0;
    }
    independent(1000);
    if (arguments.workload == "W1") second([=] { return independent(size); });
    else if (arguments.workload == "W1-fifo") second([=] { return enqueued(size); });
    else if (auto make = arguments.graph()) {
        Graph graph = make(size);
        second([&] {
            return arguments.again() ? again(graph, arguments.extra) : run(graph);
        });
    } else if (arguments.workload == "W7") latencies(size);
    else if (arguments.workload == "W8") print(blocking(size, (int)arguments.extra));
    else if (arguments.workload == "W10") second([=] { return produced(size, arguments.extra); });
    else puts("-");
}
