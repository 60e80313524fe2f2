# The two commands of this project:
#
#   make run     installs missing packages, builds, and shows the demo (or SOURCE=…) as a web page
#   make test    installs missing packages, builds everything, and runs all tests that need no browser
#
# `make gate` is what each change has to pass: `make test` and all other checks. `make night` looks
# for what is rare, for hours. While you work on Operations, `make check` runs its tests and nothing
# else; `make check LAYER=Graphs` runs those of one layer.
#
# Both need a Swift toolchain, and apt to install packages. Later runs are quick.

SOURCE ?=
PORT ?=
ARGS ?=

# The photo app is a package of its own. It builds in ClassicPhotos/.build.
APP = --package-path ClassicPhotos
APP_TESTS = $(APP) --traits EveryLibrary $(FAULTS) $(LINES)

# So is what it has only for runs without a source, and for tests.
DEMO_TESTS = --package-path ClassicPhotos/Demo $(LINES)

# The program for people. It contains Swift's libraries, so it runs without a toolchain, and does not
# change with one.
RELEASE = -c release $(APP) --static-swift-stdlib
PROGRAM = $(RELEASE) --product classicphotos

# The libraries' builds. A plain `swift build` or `swift test` leaves out telemetry, durable jobs and
# photos, which need other packages. Each set of options has a folder of its own, so that no build
# replaces another one.
#
# Builds for tests have the faults of durable jobs (Faults.swift). For debuggers they only have line
# numbers, which reports of crashes and races show: the rest takes a tenth of the time. All debug
# builds of the app are for tests, so that no command builds the app anew for another one.
FAULTS = -Xswiftc -DJOB_FAULTS
LINES = -Xswiftc -gline-tables-only
ALL_TRAITS = --traits Telemetry,DurableJobsPostgres,DurableJobsDashboard,DefaultExecutor,ServiceLifecycle,Configuration
COMPLETE = $(FAULTS) $(LINES) $(ALL_TRAITS) --scratch-path .build-complete
OPTIMIZED = -c release -Xswiftc -enable-testing $(FAULTS) $(LINES) $(ALL_TRAITS) \
	--scratch-path .build-release-tests
ADDRESS_SANITIZED = --sanitize address $(FAULTS) $(LINES) $(ALL_TRAITS) --scratch-path .build-asan
THREAD_SANITIZED = --sanitize thread -Xswiftc -DTHREAD_SANITIZER $(LINES)
SANITIZED = -c release -Xswiftc -enable-testing $(THREAD_SANITIZED) --scratch-path .build-tsan
SANITIZED_ALL = $(THREAD_SANITIZED) --traits Telemetry,DefaultExecutor --scratch-path .build-tsan-all

# The program of the libraries' tests alone: `--build-tests` would also link all snippets.
TESTS = --product swift-operationsPackageTests

# The program that the mixed stress runs in processes of its own.
STRESS = --product operations-stress

# The package manager passes the names of several traits to the compiler in the order of a set. With
# another order in each run, each build would compile everything anew.
SWIFT = SWIFT_DETERMINISTIC_HASHING=1 swift
BUILD = $(SWIFT) build

.PHONY: run test gate night check build install uninstall deb man install-run install-test \
	install-gate install-night pin-versions float-versions lint style layers model-check \
	unit-tests demo-tests app-tests browser-tests app-build every-library site drop-in consumer platforms \
	examples release-build release-tests release-tests-often browser-tests-under-load tests-under-load api \
	api-record release-check snippets thread-sanitizer thread-sanitizer-all address-sanitizer \
	address-sanitizer-app stress mixed-stress fuzz fuzz-long grdb jobs-nemesis jobs-pictures \
	instructions screenshots clean

# The recipe's shell gets SOURCE through its environment, so spaces and quotation marks need no
# escaping. dash and zsh pass `SOURCE=~/Pictures` on unexpanded; the recipe then inserts the home
# folder.
run: install-run pin-versions
	@[ -e ClassicPhotos/.build/release/classicphotos ] || echo "The first build takes 5 to 15 \
	minutes: it also compiles a web server. Later builds take seconds."
	$(BUILD) $(PROGRAM)
	@case "$$SOURCE" in "~"|"~/"*) SOURCE="$$HOME$${SOURCE#?}" ;; esac; \
	set -x; exec ClassicPhotos/.build/release/classicphotos serve $${SOURCE:+"$$SOURCE"} $${PORT:+--port "$$PORT"} $(ARGS)

build: install-run pin-versions
	$(BUILD) $(PROGRAM)

# Writes the manual pages of the program into ClassicPhotos/.build/manual. The package manager's
# plugin for it would build the program without Swift's libraries, and thus everything anew.
MANUAL = ClassicPhotos/.build/manual

man: build
	$(BUILD) $(RELEASE) --product generate-manual
	rm -rf $(MANUAL) && mkdir $(MANUAL)
	ClassicPhotos/.build/release/generate-manual --multi-page -o $(MANUAL) \
		ClassicPhotos/.build/release/classicphotos

# Installs the program, with its manual pages and the completions of three shells, for everybody:
# `sudo make install`; or for one person: `make install PREFIX=~/.local`.
PREFIX ?= /usr/local
DESTDIR ?=
TO = $(DESTDIR)$(PREFIX)

install: man
	install -d "$(TO)/bin" "$(TO)/share/man/man1" "$(TO)/share/bash-completion/completions" \
		"$(TO)/share/zsh/site-functions" "$(TO)/share/fish/vendor_completions.d"
	install -s -m 755 ClassicPhotos/.build/release/classicphotos "$(TO)/bin/classicphotos"
	install -m 644 $(MANUAL)/*.1 "$(TO)/share/man/man1"
	"$(TO)/bin/classicphotos" --generate-completion-script bash \
		>"$(TO)/share/bash-completion/completions/classicphotos"
	"$(TO)/bin/classicphotos" --generate-completion-script zsh \
		>"$(TO)/share/zsh/site-functions/_classicphotos"
	"$(TO)/bin/classicphotos" --generate-completion-script fish \
		>"$(TO)/share/fish/vendor_completions.d/classicphotos.fish"
	@echo "Installed: $(TO)/bin/classicphotos"

uninstall:
	rm -f "$(TO)/bin/classicphotos" "$(TO)"/share/man/man1/classicphotos*.1 \
		"$(TO)/share/bash-completion/completions/classicphotos" \
		"$(TO)/share/zsh/site-functions/_classicphotos" \
		"$(TO)/share/fish/vendor_completions.d/classicphotos.fish"

# Makes a package for Debian and Ubuntu in .build-deb: `sudo apt install ./.build-deb/*.deb`.
deb:
	@Scripts/install-packages dpkg-dev
	rm -rf .build-deb
	$(MAKE) install DESTDIR="$(CURDIR)/.build-deb/root" PREFIX=/usr
	Scripts/make-deb .build-deb/root .build-deb

# A landing proves that a change is right, with fixed seeds; a night looks for what is rare.
#
# The gate runs the tests unoptimized, and those in which threads meet once more, optimized under the
# thread sanitizer. Scripts/steps describes the steps.
TEST_STEPS = style unit-tests layers demo-tests app-tests
GATE_STEPS = $(TEST_STEPS) browser-tests model-check thread-sanitizer mixed-stress snippets api \
	drop-in platforms site consumer instructions fuzz
NIGHT_STEPS = release-tests-often stress thread-sanitizer-all address-sanitizer \
	address-sanitizer-app examples grdb fuzz-long tests-under-load browser-tests-under-load \
	jobs-nemesis

# All packages come first, so that the steps have the machine for themselves.
test: install-test
	@Scripts/run-steps $(TEST_STEPS)

gate: install-gate
	@Scripts/run-steps $(GATE_STEPS)

# Takes hours. Each step runs, whatever has changed, and also after one that failed; random tests
# have new seeds and more rounds, and packages their newest versions.
night: export OPERATIONS_NIGHT = 1
night: export OPERATIONS_NEW_SEEDS = 1
night: install-night float-versions
	@Scripts/run-steps --all --keep-going $(GATE_STEPS) $(NIGHT_STEPS)

# The quick check for work on Operations: needs no other package. LAYER is a name from the list of
# layers in Package.swift, or Runtime, or a regular expression for several.
LAYER ?= \w+

check: style pin-versions
	swift build $(TESTS)
	swift build $(STRESS)
	Scripts/check-layers .build/debug
	Scripts/run-tests --filter '^Operations($(LAYER))Tests\.'

# Single checks, for work on one part.

# The layers are proved by the index of the latest debug build. There has to be one.
lint: style
	Scripts/check-layers

style:
	swift format lint --strict --parallel --recursive Package.swift Benchmarks/Differences Scripts Snippets \
		Sources Tests ClassicPhotos/Package.swift ClassicPhotos/Plugins ClassicPhotos/Sources \
		ClassicPhotos/Tests ClassicPhotos/Demo/Package.swift ClassicPhotos/Demo/Sources \
		ClassicPhotos/Demo/Tests Examples/*/Package.swift Examples/*/Sources
	Scripts/check-comments

# Explores the scheduler's protocols completely; takes two minutes. Models of which nothing has
# changed since then are left out.
model-check: install-test
	Models/check

# The tests of all libraries.
unit-tests: install-test pin-versions
	$(BUILD) $(TESTS) $(COMPLETE)
	$(BUILD) $(STRESS) $(COMPLETE)
	Scripts/run-tests $(COMPLETE)

layers:
	Scripts/check-layers .build-complete/debug

# The tests of the demo's painter and server.
demo-tests: install-test pin-versions
	$(BUILD) --build-tests $(DEMO_TESTS)
	Scripts/run-tests $(DEMO_TESTS)

# The app's tests, without those in a browser; and those.
BROWSER_TESTS = BrowserTests

app-build: install-test pin-versions
	$(BUILD) --build-tests $(APP_TESTS)

app-tests: app-build
	Scripts/run-tests $(APP_TESTS) --skip '$(BROWSER_TESTS)'

browser-tests: install-gate app-build
	Scripts/fetch-axe
	Scripts/run-tests $(APP_TESTS) --filter '$(BROWSER_TESTS)'

tests-under-load:
	Scripts/under-load 1 $(MAKE) unit-tests demo-tests app-tests

browser-tests-under-load:
	Scripts/under-load 5 $(MAKE) browser-tests

# All libraries as the app's tests have them, and what they need from other packages.
every-library: install-test pin-versions
	$(BUILD) $(APP_TESTS) --target EveryLibrary

# Writes the documentation of all libraries, with the pages around it, as one static site; warnings
# and missing pages are errors. To read it: python3 -m http.server -d .build-site/site
LIBRARIES = Operations OperationsFoundation OperationsTestKit OperationsInsight \
	OperationsTelemetry OperationsDefaultExecutor OperationsServiceLifecycle DurableJobs \
	DurableJobsPostgres DurableJobFiles DurableJobsTelemetry DurableJobsDashboard \
	DurableJobsTestKit
PHOTO_LIBRARIES = PhotoImaging PhotoPipeline

site: every-library
	$(BUILD) $(APP_TESTS) --product snippet-extract
	Scripts/make-site .build-site/site ClassicPhotos/.build/debug/Modules \
		ClassicPhotos/.build/debug/snippet-extract $(LIBRARIES) $(PHOTO_LIBRARIES)

# Runs programs with Foundation and with OperationsFoundation; fails if a line that they print
# differs, unless Benchmarks/Differences/DropIn/differences.txt lists the line with a reason.
drop-in: install-test pin-versions
	$(BUILD) --target OperationsFoundation $(COMPLETE)
	Benchmarks/Differences/DropIn/check .build-complete/debug

# Builds a package that uses the libraries; fails if the package manager fetches another package, or
# if a program in Benchmarks/Differences/FoundationOnLinux does something else than its comments say.
consumer:
	Scripts/check-consumer

# Compiles what is written for Apple's systems, as far as Linux can.
platforms: every-library
	Scripts/check-platforms ClassicPhotos/.build/debug/Modules

# Builds and runs the examples, against a tagged copy of the repository, as users do. Takes some
# minutes, most of them for the packages that the servers need.
examples:
	@Scripts/install-packages libsqlite3-dev libvips-dev pkg-config curl
	Scripts/check-examples

# The tests of the libraries, optimized as users run them.
release-build: install-test pin-versions
	$(BUILD) $(TESTS) $(OPTIMIZED)
	$(BUILD) $(STRESS) $(OPTIMIZED)

release-tests release-tests-often thread-sanitizer thread-sanitizer-all address-sanitizer: \
	export OPERATIONS_STRESS_SECONDS = 60

release-tests: release-build
	Scripts/run-tests $(OPTIMIZED)

# Twenty times, because what is rare is seen once.
release-tests-often: release-build
	for run in $$(seq 20); do Scripts/run-tests $(OPTIMIZED) || exit; done

# Compares the public interfaces with those of the last version. OperationsFoundation is left out,
# which has names of other modules only.
MODULES = .build-complete/debug/Modules

api: install-gate pin-versions
	$(BUILD) $(TESTS) $(COMPLETE)
	Scripts/check-api $(MODULES) $(filter-out OperationsFoundation,$(LIBRARIES))

# Only after a release: Documentation/Releasing.md.
api-record: install-gate pin-versions
	$(BUILD) $(TESTS) $(COMPLETE)
	Scripts/check-api $(MODULES) $(filter-out OperationsFoundation,$(LIBRARIES)) --record
	rm -f Documentation/api/meant.txt

# What is missing before a version can be tagged: Documentation/Releasing.md. Runs all tests.
release-check:
	Scripts/release-check

# Runs the documentation's programs and compares their output.
snippets: install-test pin-versions
	$(BUILD) $(COMPLETE)
	Scripts/check-snippets .build-complete/debug

# The tests in which threads meet, optimized under the thread sanitizer.
THREADED_LAYERS = Executors Graphs Lifecycle QualityOfService Runtime Scheduling Structured Traits \
	Typed

thread-sanitizer thread-sanitizer-all: export TSAN_OPTIONS = \
	halt_on_error=1:suppressions=Tests/thread-sanitizer-suppressions.txt
thread-sanitizer: export OPERATIONS_LAYERS = $(THREADED_LAYERS)
thread-sanitizer: pin-versions
	$(BUILD) $(TESTS) $(SANITIZED)
	$(BUILD) $(STRESS) $(SANITIZED)
	Scripts/run-tests $(SANITIZED)

# All tests, unoptimized. Durable jobs are left out: their tests have leases of a second, and check
# processes.
thread-sanitizer-all: install-test pin-versions
	$(BUILD) $(TESTS) $(SANITIZED_ALL)
	$(BUILD) $(STRESS) $(SANITIZED_ALL)
	Scripts/run-tests $(SANITIZED_ALL)

# Some tests leave cycles of operations behind, or end their process while operations run.
address-sanitizer address-sanitizer-app: export ASAN_OPTIONS = detect_leaks=0
address-sanitizer: install-test pin-versions
	$(BUILD) $(TESTS) $(ADDRESS_SANITIZED)
	$(BUILD) $(STRESS) $(ADDRESS_SANITIZED)
	Scripts/run-tests $(ADDRESS_SANITIZED)

# The code in C that reads and writes pictures, and all that calls it.
ADDRESS_SANITIZED_APP = $(APP_TESTS) --sanitize address --scratch-path .build-asan-app

address-sanitizer-app: install-test pin-versions
	$(BUILD) --build-tests $(ADDRESS_SANITIZED_APP)
	Scripts/run-tests $(ADDRESS_SANITIZED_APP) --skip '$(BROWSER_TESTS)'

# Runs the tests' random graphs at the size of a nightly run, and the mixed stress with new seeds for
# STRESS_SECONDS; OPERATIONS_STRESS_SEED=… repeats one round. The program of the mixed stress has
# more options: .build-release-tests/release/operations-stress --help
STRESS_OPERATIONS ?= 10000000
STRESS_SECONDS ?= 3600

stress: release-build
	OPERATIONS_STRESS_OPERATIONS=$(STRESS_OPERATIONS) OPERATIONS_NEW_SEEDS=1 \
		OPERATIONS_STRESS_SECONDS=$(STRESS_SECONDS) \
		Scripts/run-tests $(OPTIMIZED) --filter StressTests

# The mixed stress with fixed seeds, optimized and under the address sanitizer, for
# MIXED_STRESS_SECONDS each. The tests run it unoptimized and under the thread sanitizer.
MIXED_STRESS_SECONDS ?= 30

mixed-stress: export ASAN_OPTIONS = detect_leaks=0
mixed-stress: export OPERATIONS_LAYERS = Scheduling
mixed-stress: pin-versions
	$(BUILD) $(STRESS) -c release $(LINES) --scratch-path .build-stress
	.build-stress/release/operations-stress --seconds $(MIXED_STRESS_SECONDS)
	$(BUILD) $(STRESS) --sanitize address $(LINES) --scratch-path .build-stress-asan
	.build-stress-asan/debug/operations-stress --seconds $(MIXED_STRESS_SECONDS)

# Feeds random bytes to the readers of pictures, raw files, lists, looks, addresses, HTTP headers, XMP
# and the index of photos, each for FUZZ_SECONDS. Set FUZZ_SECONDS=3600 for a long run.
FUZZ_SECONDS ?= 20

fuzz: install-test pin-versions
	Scripts/fuzz $(FUZZ_SECONDS)

fuzz-long:
	$(MAKE) fuzz FUZZ_SECONDS=600

# Runs durable jobs under random faults: ROUNDS seeds from SEED on, each for SECONDS, with hosts in
# network namespaces on PostgreSQL, and with processes of one host on both stores. The hosts need
# root. A later call continues with the seeds that have not passed. In every third round, the store
# has 30,000 old jobs, or as many as DURABLE_JOBS_NEMESIS_HISTORY says.
SECONDS ?= 60
SEED ?= 1
ROUNDS ?= 100

jobs-nemesis: release-build
	@Scripts/install-packages iproute2 iptables faketime
	Scripts/jobs-nemesis $(SECONDS) $(SEED) $(ROUNDS) $(OPTIMIZED)

# Runs the guide's program that stores a job in its own transaction, with GRDB, which is compiled for
# this alone.
grdb:
	@Scripts/install-packages libsqlite3-dev
	Scripts/check-grdb

# Processes a folder of pictures without a queue, and again with two workers on hosts in network
# namespaces, of which one is killed every five seconds, and compares the files. Needs root.
PICTURES ?= $(HOME)/Pictures

jobs-pictures: install-test build
	@Scripts/install-packages iproute2 iptables
	Scripts/jobs-pictures "$(PICTURES)"

# Counts the instructions and allocations of one operation; fails if they exceed
# Benchmarks/thresholds.txt. Takes about a minute with the build.
instructions: install-gate
	Benchmarks/instructions --check

# Takes the README's pictures of the page, in the tests' own browser. One of them moves.
screenshots: install-gate
	@Scripts/install-packages webp
	SCREENSHOTS="$(CURDIR)/Documentation/images" $(SWIFT) test $(APP_TESTS) --disable-xctest \
		--filter 'PageBrowserTests|FilmBrowserTests'
	img2webp -loop 0 -min_size -d 100 -lossy -q 60 -m 6 Documentation/images/race/*.png \
		-o Documentation/images/race.webp
	rm -r Documentation/images/race

install-run:
	@Scripts/install-packages libvips-dev libcurl4-openssl-dev zlib1g-dev pkg-config libpq-dev \
		libsqlite3-dev

# What tests need, what the gate's other steps need, and what the night's steps need.
FOR_TESTS = libvips-dev libcurl4-openssl-dev zlib1g-dev pkg-config postgresql libpq-dev \
	libsqlite3-dev python3 python3-psycopg2
FOR_GATE = $(FOR_TESTS) chromium chromium-driver spin gcc python3-pip unzip valgrind
FOR_NIGHT = $(FOR_GATE) curl iproute2 iptables faketime

install-test:
	@Scripts/install-packages $(FOR_TESTS)

install-gate:
	@Scripts/install-packages $(FOR_GATE)

install-night:
	@Scripts/install-packages $(FOR_NIGHT)

# Scripts/versions has the versions of all packages that a build takes. A night takes the newest.
PACKAGES = . ClassicPhotos ClassicPhotos/Demo

pin-versions:
	@[ -n "$$OPERATIONS_NIGHT" ] || Scripts/pin-versions $(PACKAGES)

float-versions:
	@Scripts/pin-versions --float $(PACKAGES)

clean:
	rm -rf .build .build-* */.build ClassicPhotos/Demo/.build Examples/*/.build
