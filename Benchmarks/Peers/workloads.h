// What the C++ programs of the benchmarks share: the graphs, the checks, the arguments and the
// output. An argument is a workload, a size, and a second number for some workloads. The output is
// the total of the nanoseconds (W1m: bytes per operation; W7: nanoseconds of each sample), or "-".

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Marks {
    std::vector<uint8_t> bytes;
    size_t times;
    explicit Marks(size_t count, size_t times = 1) : bytes(count), times(times) {}
    ~Marks() {
        for (uint8_t byte : bytes)
            if (byte != (uint8_t)times) {
                fputs("a piece of work did not run as often as it had to\n", stderr);
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

static double resident() {
    long size, pages;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) exit(1);
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

// Calls a function with the number of each producer, each on a thread of its own.
template <typename Body>
static Clock::time_point produce(size_t producers, Body body) {
    std::vector<std::thread> threads;
    std::atomic<size_t> ready{0};
    std::atomic<bool> go{false};
    for (size_t p = 0; p < producers; p++)
        threads.emplace_back([&, p] {
            ready++;
            go.wait(false);
            body(p);
        });
    while (ready < producers) std::this_thread::yield();
    auto start = Clock::now();
    go = true;
    go.notify_all();
    for (auto &thread : threads) thread.join();
    return start;
}

struct Arguments {
    std::string workload;
    size_t size, extra;

    Arguments(int count, char **values) {
        if (count < 3) exit(2);
        workload = values[1];
        size = strtoull(values[2], nullptr, 10);
        extra = count > 3 ? strtoull(values[3], nullptr, 10) : 1;
    }

    // The function that makes the graph of the workload; null if it has none.
    Graph (*graph() const)(size_t) {
        std::string name = workload.substr(0, workload.find("-again"));
        if (name == "W2") return chain;
        if (name == "W3") return fan;
        if (name == "W4-layered") return layered;
        if (name == "W4-wavefront") return wavefront;
        return nullptr;
    }

    // Whether a graph that was made and run before is to run `extra` times.
    bool again() const { return workload.find("-again") != std::string::npos; }
};

static void print(double figure) { printf("%.3f\n", figure); }

// The first run makes the threads and the allocator's memory; the second one is measured.
template <typename Measure> static void second(Measure measure) {
    measure();
    print(measure());
}
