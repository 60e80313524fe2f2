// The Taskflow programs of the benchmarks. Independent work uses Executor::silent_async; a graph is
// a Taskflow with a task for each node. As with the other peers, the time includes making, linking,
// running and destroying.

#include "../workloads.h"

#include <taskflow/taskflow.hpp>

static void build(tf::Taskflow &flow, const Graph &graph, uint8_t *bytes) {
    std::vector<tf::Task> tasks;
    tasks.reserve(graph.count());
    for (size_t i = 0; i < graph.count(); i++)
        tasks.push_back(flow.emplace([bytes, i] { bytes[i]++; }));
    for (size_t i = 0; i < graph.count(); i++)
        for (size_t k = graph.starts[i]; k < graph.starts[i + 1]; k++)
            tasks[graph.list[k]].precede(tasks[i]);
}

static double run(const Graph &graph, tf::Executor &executor) {
    Marks marks(graph.count());
    uint8_t *bytes = marks.bytes.data();
    auto start = Clock::now();
    {
        tf::Taskflow flow;
        build(flow, graph, bytes);
        executor.run(flow).wait();
    }
    return since(start);
}

static double again(const Graph &graph, size_t times, tf::Executor &executor) {
    Marks marks(graph.count(), times + 1);
    uint8_t *bytes = marks.bytes.data();
    tf::Taskflow flow;
    build(flow, graph, bytes);
    executor.run(flow).wait();
    auto start = Clock::now();
    for (size_t i = 0; i < times; i++) executor.run(flow).wait();
    return since(start);
}

static double independent(size_t count, tf::Executor &executor) {
    Marks marks(count);
    uint8_t *bytes = marks.bytes.data();
    auto start = Clock::now();
    for (size_t i = 0; i < count; i++) executor.silent_async([bytes, i] { bytes[i]++; });
    executor.wait_for_all();
    return since(start);
}

static double produced(size_t count, size_t producers, tf::Executor &executor) {
    size_t share = count / producers;
    Marks marks(share * producers);
    uint8_t *bytes = marks.bytes.data();
    auto start = produce(producers, [&](size_t p) {
        for (size_t i = p * share; i < (p + 1) * share; i++)
            executor.silent_async([bytes, i] { bytes[i]++; });
    });
    executor.wait_for_all();
    return since(start);
}

static double blocking(size_t count, int milliseconds, tf::Executor &executor) {
    auto start = Clock::now();
    for (size_t i = 0; i < count; i++)
        executor.silent_async(
            [=] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); });
    executor.wait_for_all();
    return since(start);
}

int main(int argc, char **argv) {
    Arguments arguments(argc, argv);
    size_t size = arguments.size;
    tf::Executor executor;
    independent(1000, executor);
    if (arguments.workload == "W1") second([&] { return independent(size, executor); });
    else if (auto make = arguments.graph()) {
        Graph graph = make(size);
        second([&] {
            return arguments.again() ? again(graph, arguments.extra, executor)
                                     : run(graph, executor);
        });
    } else if (arguments.workload == "W8")
        print(blocking(size, (int)arguments.extra, executor));
    else if (arguments.workload == "W10")
        second([&] { return produced(size, arguments.extra, executor); });
    else puts("-");
}
