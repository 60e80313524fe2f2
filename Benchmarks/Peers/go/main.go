// The Go programs of the benchmarks. Arguments: workload, size, and a second number for some
// workloads. Output: total nanoseconds (W1m: bytes per operation; W7: nanoseconds of each sample),
// or "-".
//
// Each piece of work is a goroutine. In a graph each goroutine has a channel that it closes at its
// end, and receives from the channels of its dependencies.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

func check(marks []byte) {
	for _, mark := range marks {
		if mark != 1 {
			fmt.Fprintln(os.Stderr, "a piece of work did not run exactly once")
			os.Exit(1)
		}
	}
}

func chain(count int) [][]int {
	graph := make([][]int, count)
	for i := 1; i < count; i++ {
		graph[i] = []int{i - 1}
	}
	return graph
}

func fan(width int) [][]int {
	graph := make([][]int, width+2)
	for i := 1; i <= width; i++ {
		graph[i] = []int{0}
		graph[width+1] = append(graph[width+1], i)
	}
	return graph
}

func layered(wanted int) [][]int {
	width := wanted / 10
	if width > 1000 {
		width = 1000
	}
	if width < 1 {
		width = 1
	}
	graph := make([][]int, wanted/width*width)
	state := uint64(42)
	for i := width; i < len(graph); i++ {
		for k := 0; k < 4; k++ {
			state = state*6364136223846793005 + 1442695040888963407
			graph[i] = append(graph[i], (i/width-1)*width+int((state>>33)%uint64(width)))
		}
	}
	return graph
}

func wavefront(wanted int) [][]int {
	side := int(math.Sqrt(float64(wanted)))
	graph := make([][]int, side*side)
	for i := range graph {
		if i >= side {
			graph[i] = append(graph[i], i-side)
		}
		if i%side > 0 {
			graph[i] = append(graph[i], i-1)
		}
	}
	return graph
}

func run(graph [][]int) time.Duration {
	marks := make([]byte, len(graph))
	start := time.Now()
	done := make([]chan struct{}, len(graph))
	var group sync.WaitGroup
	group.Add(len(graph))
	for i := range graph {
		done[i] = make(chan struct{})
		go func(i int) {
			for _, dependency := range graph[i] {
				<-done[dependency]
			}
			marks[i]++
			close(done[i])
			group.Done()
		}(i)
	}
	group.Wait()
	duration := time.Since(start)
	check(marks)
	return duration
}

func produced(count, producers int, body func()) time.Duration {
	share := count / producers
	marks := make([]byte, share*producers)
	var group sync.WaitGroup
	group.Add(len(marks))
	start := time.Now()
	for p := 0; p < producers; p++ {
		produce := func(p int) {
			for i := p * share; i < (p+1)*share; i++ {
				go func(i int) {
					body()
					marks[i]++
					group.Done()
				}(i)
			}
		}
		if producers == 1 {
			produce(p)
		} else {
			go produce(p)
		}
	}
	group.Wait()
	duration := time.Since(start)
	check(marks)
	return duration
}

// The goroutine that resumes has a thread of its own, as one outside of Go would have.
func resumed(count int) time.Duration {
	waiting := make(chan chan struct{}, count)
	go func() {
		runtime.LockOSThread()
		for i := 0; i < count; i++ {
			(<-waiting) <- struct{}{}
		}
	}()
	return produced(count, 1, func() {
		gate := make(chan struct{}, 1)
		waiting <- gate
		<-gate
	})
}

func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		os.Exit(1)
	}
	var size, pages float64
	fmt.Sscan(string(text), &size, &pages)
	return pages * float64(os.Getpagesize())
}

// Go cannot delay the start of goroutines, so each goroutine blocks at once, on its own stack.
func bytesQueued(count int) float64 {
	gate := make(chan struct{})
	marks := make([]byte, count)
	var began sync.WaitGroup
	began.Add(count)
	before := resident()
	for i := range marks {
		go func(i int) {
			began.Done()
			<-gate
			marks[i]++
		}(i)
	}
	began.Wait()
	return (resident() - before) / float64(count)
}

func latencies(count int) {
	done := make(chan time.Time)
	for i := 0; i < count; i++ {
		time.Sleep(5 * time.Millisecond)
		start := time.Now()
		go func() { done <- time.Now() }()
		fmt.Print((<-done).Sub(start).Nanoseconds(), " ")
	}
	fmt.Println()
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	size, extra := number(2, 0), number(3, 1)
	print := func(duration time.Duration) { fmt.Println(duration.Nanoseconds()) }
	// The first run makes the threads and the memory; the second one is measured.
	second := func(measure func() time.Duration) {
		measure()
		runtime.GC()
		print(measure())
	}
	graph := func(make func(int) [][]int) {
		made := make(size)
		second(func() time.Duration { return run(made) })
	}
	nothing := func() {}
	if os.Args[1] == "W1m" {
		fmt.Println(bytesQueued(size))
		return
	}
	produced(1000, 1, nothing)
	switch os.Args[1] {
	case "W1":
		second(func() time.Duration { return produced(size, 1, nothing) })
	case "W2":
		graph(chain)
	case "W3":
		graph(fan)
	case "W4-layered":
		graph(layered)
	case "W4-wavefront":
		graph(wavefront)
	case "W7":
		latencies(size)
	case "W8":
		pause := time.Duration(extra) * time.Millisecond
		print(produced(size, 1, func() { time.Sleep(pause) }))
	case "W9":
		second(func() time.Duration { return produced(size, 1, runtime.Gosched) })
	case "W9r":
		second(func() time.Duration { return resumed(size) })
	case "W10":
		second(func() time.Duration { return produced(size, extra, nothing) })
	default:
		fmt.Println("-")
	}
}

func number(index, otherwise int) int {
	if len(os.Args) <= index {
		return otherwise
	}
	value, err := strconv.Atoi(os.Args[index])
	if err != nil {
		os.Exit(2)
	}
	return value
}
