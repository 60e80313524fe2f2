/// The divisor of large test sizes in builds whose code runs slowly.
#if THREAD_SANITIZER
package let slowness = 50
#elseif DEBUG
package let slowness = 10
#else
package let slowness = 1
#endif

/// Whether the thread sanitizer watches the tests. Times say nothing then.
#if THREAD_SANITIZER
package let isThreadSanitized = true
#else
package let isThreadSanitized = false
#endif

/// The divisor of the lengths of long chains. A recursion through a hundredth of a million links
/// still overflows a small stack, and more links would show the thread sanitizer nothing new.
#if THREAD_SANITIZER
package let chainSlowness = 100
#else
package let chainSlowness = slowness
#endif

/// The number of rounds of a random test: in builds whose code runs slowly, a tenth of them. The
/// optimized build runs all.
package func rounds(_ count: Int) -> Int {
    max(1, count / min(slowness, 10))
}

/// The seeds of the contract's random tests; see ``seeds(_:)``.
package let contractSeeds = seeds(1, 2, 3, 4)
