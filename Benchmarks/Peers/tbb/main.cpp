// The oneTBB programs of the benchmarks. Arguments: workload, size, and for W10 the number of
// threads. Output: total nanoseconds (W1m: bytes per operation; W7: nanoseconds of each sample), or
// "-".
//
// Independent work uses task_group, and task_arena::enqueue where the order is to be kept; graphs
// use flow::graph with a continue_node for each node. As with the other peers, the time includes
// making, linking, running and destroying.

#include <oneapi/tbb.h>
#include <oneapi/tbb/flow_graph.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using Clock = std::chrono::steady_clock;
using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Marks {
    std::vector<uint8_t> bytes;
    explicit Marks(size_t count) : bytes(count) {}
    ~Marks() {
        for (uint8_t byte : bytes)
            if (byte != 1) {
                fputs("a piece of work did not run exactly once\n", stderr);
                _exit(1);
            }
    }
};

struct Graph {
    std::vector<size_t> starts{0}, list;
    size_t count() const { return starts.size() - 1; }
    void end_node() { starts.push_back(list.size()); }
};

static Graph chain(size_t count) {
    Graph graph;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) graph.list.push_back(i - 1);
        graph.end_node();
    }
    return graph;
}

static Graph fan(size_t width) {
    Graph graph;
    graph.end_node();
    for (size_t i = 0; i < width; i++) {
        graph.list.push_back(0);
        graph.end_node();
    }
    for (size_t i = 1; i <= width; i++) graph.list.push_back(i);
    graph.end_node();
    return graph;
}

static Graph layered(size_t wanted) {
    Graph graph;
    size_t width = std::min<size_t>(1000, std::max<size_t>(1, wanted / 10));
    uint64_t state = 42;
    for (size_t i = 0; i < wanted / width * width; i++) {
        if (i >= width)
            for (int k = 0; k < 4; k++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                graph.list.push_back((i / width - 1) * width + (state >> 33) % width);
            }
        graph.end_node();
    }
    return graph;
}

static Graph wavefront(size_t wanted) {
    Graph graph;
    size_t side = (size_t)std::sqrt((double)wanted);
    for (size_t i = 0; i < side * side; i++) {
        if (i >= side) graph.list.push_back(i - side);
        if (i % side > 0) graph.list.push_back(i - 1);
        graph.end_node();
    }
    return graph;
}

static double run(const Graph &graph) {
    Marks marks(graph.count());
    uint8_t *bytes = marks.bytes.data();
    auto start = Clock::now();
    {
        tbb::flow::graph flow;
        std::vector<std::unique_ptr<Node>> nodes;
        nodes.reserve(graph.count());
        for (size_t i = 0; i < graph.count(); i++)
            nodes.push_back(std::make_unique<Node>(
                flow, [bytes, i](const tbb::flow::continue_msg &) { bytes[i]++; }));
        for (size_t i = 0; i < graph.count(); i++)
            for (size_t k = graph.starts[i]; k < graph.starts[i + 1]; k++)
                tbb::flow::make_edge(*nodes[graph.list[k]], *nodes[i]);
        for (size_t i = 0; i < graph.count(); i++)
            if (graph.starts[i] == graph.starts[i + 1]) nodes[i]->try_put({});
        flow.wait_for_all();
    }
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
    std::atomic<size_t> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (size_t p = 0; p < producers; p++)
        threads.emplace_back([&, p] {
            ready++;
            go.wait(false);
            for (size_t i = p * share; i < (p + 1) * share; i++)
                group.run([bytes, i] { bytes[i]++; });
        });
    while (ready < producers) std::this_thread::yield();
    auto start = Clock::now();
    go = true;
    go.notify_all();
    for (auto &thread : threads) thread.join();
    group.wait();
    return since(start);
}

static double resident() {
    long size, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) exit(1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
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
    if (argc < 3) return 2;
    std::string workload = argv[1];
    size_t size = strtoull(argv[2], nullptr, 10);
    size_t extra = argc > 3 ? strtoull(argv[3], nullptr, 10) : 1;
    auto print = [](double figure) { printf("%.3f\n", figure); };
    // The first run makes the threads and the allocator's memory; the second one is measured.
    auto second = [&](auto measure) {
        measure();
        print(measure());
    };
    auto graph = [&](Graph (*make)(size_t)) {
        Graph made = make(size);
        second([&] { return run(made); });
    };
    if (workload == "W1m") {
        print(bytes_queued(size));
        return 0;
    }
    independent(1000);
    if (workload == "W1") second([&] { return independent(size); });
    else if (workload == "W1-fifo") second([&] { return enqueued(size); });
    else if (workload == "W2") graph(chain);
    else if (workload == "W3") graph(fan);
    else if (workload == "W4-layered") graph(layered);
    else if (workload == "W4-wavefront") graph(wavefront);
    else if (workload == "W7") latencies(size);
    else if (workload == "W8") print(blocking(size, (int)extra));
    else if (workload == "W10") second([&] { return produced(size, extra); });
    else puts("-");
}
