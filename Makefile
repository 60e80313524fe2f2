# The two commands of this project:
#
#   make run     installs missing packages, builds, and shows the demo (or SOURCE=…) as a web page
#   make test    installs missing packages, builds everything and runs every check
#
# Both need a Swift toolchain, and apt to install packages. Later runs are quick.

SOURCE ?=
PORT ?= 8080
ARGS ?=

.PHONY: run test build install-run install-test lint model-check unit-tests docs release-tests snippets thread-sanitizer stress screenshots clean

# The recipe's shell gets SOURCE through its environment, so spaces and quotation marks need no
# escaping. dash and zsh pass `SOURCE=~/Pictures` on unexpanded; the recipe then inserts the home
# folder.
run: install-run
	swift build -c release --product classicphotos
	@case "$$SOURCE" in "~"|"~/"*) SOURCE="$$HOME$${SOURCE#?}" ;; esac; \
	set -x; exec .build/release/classicphotos serve $${SOURCE:+"$$SOURCE"} --port $(PORT) $(ARGS)

build: install-run
	swift build -c release --product classicphotos

test: install-test lint model-check unit-tests docs release-tests snippets thread-sanitizer
	@echo "Everything passed."

# Single checks, for work on one part.

# A test's time limit counts from its start, and without this limit all tests would start at once.
unit-tests release-tests thread-sanitizer: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 8

lint:
	swift format lint --strict --parallel --recursive Package.swift Snippets Sources Tests
	Scripts/check-comments
	Scripts/file-circles Sources/Operations
	Scripts/file-circles Sources/OperationsInsight

# Explores the scheduler's protocols completely; takes about a minute.
model-check: install-test
	Models/check

unit-tests: install-test
	swift build --build-tests
	Scripts/run-tests

# Builds the libraries' documentation; warnings are errors. The command prints the output folder. To
# view it in a browser: python3 -m http.server -d ….doccarchive, and then
# http://localhost:8000/documentation/operations
LIBRARIES = Operations OperationsTestKit OperationsInsight OperationsTelemetry PhotoPipeline

docs: install-run
	swift package generate-documentation $(LIBRARIES:%=--target %) --warnings-as-errors

# Builds and tests the framework and its libraries again, without the app and its dependencies:
# optimised, as users run it, and with thread sanitizer.
ALONE = OPERATIONS_ONLY=telemetry
OPTIMISED = -c release -Xswiftc -enable-testing --scratch-path .build-release-tests
SANITIZED = --sanitize thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build-tsan

release-tests:
	$(ALONE) swift build --build-tests $(OPTIMISED)
	$(ALONE) Scripts/run-tests $(OPTIMISED)

# Runs the documentation's programs and compares their output.
snippets:
	$(ALONE) swift build $(OPTIMISED)
	Scripts/check-snippets .build-release-tests/release

thread-sanitizer: export TSAN_OPTIONS = halt_on_error=1
thread-sanitizer:
	$(ALONE) swift build --build-tests $(SANITIZED)
	$(ALONE) Scripts/run-tests $(SANITIZED)

# Runs the tests' random graphs at the size of a nightly run; OPERATIONS_STRESS_SEED=… repeats one
# round.
STRESS_OPERATIONS ?= 10000000

stress:
	$(ALONE) swift build --build-tests $(OPTIMISED)
	OPERATIONS_STRESS_OPERATIONS=$(STRESS_OPERATIONS) \
		$(ALONE) Scripts/run-tests $(OPTIMISED) --filter StressTests

# Takes the README's pictures of the page, in the tests' own browser.
screenshots: install-test
	SCREENSHOTS="$(CURDIR)/docs/images" swift test --disable-xctest --filter PageTests

install-run:
	@Scripts/install-packages libvips-dev pkg-config

install-test:
	@Scripts/install-packages libvips-dev pkg-config chromium chromium-driver spin gcc

clean:
	rm -rf .build .build-release-tests .build-tsan
