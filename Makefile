# The two commands of this project:
#
#   make run     installs what is missing, builds, and shows the demo (or SOURCE=… ) as a web page
#   make test    installs what is missing, builds everything and runs every check
#
# Both need a Swift toolchain and, for what they install, apt. Running them again is quick.

SOURCE ?=
PORT ?= 8080
ARGS ?=

.PHONY: run test build install-run install-test lint model-check unit-tests docs release-tests snippets thread-sanitizer stress screenshots clean

# The shell of the recipe has SOURCE in its environment, so spaces and quotation marks arrive as they are. dash
# and zsh pass `SOURCE=~/Pictures` on as it was typed; the recipe then puts the home folder in.
run: install-run
	swift build -c release --product classicphotos
	@case "$$SOURCE" in "~"|"~/"*) SOURCE="$$HOME$${SOURCE#?}" ;; esac; \
	set -x; exec .build/release/classicphotos serve $${SOURCE:+"$$SOURCE"} --port $(PORT) $(ARGS)

build: install-run
	swift build -c release --product classicphotos

test: install-test lint model-check unit-tests docs release-tests snippets thread-sanitizer
	@echo "Everything passed."

# Each check alone, for whoever works on one thing.

# A test's limit of time counts from when it begins, and all of them would begin at once.
unit-tests release-tests thread-sanitizer: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 8

lint:
	swift format lint --strict --parallel --recursive Package.swift Snippets Sources Tests

# The protocols of the scheduler, explored in full; about a minute.
model-check: install-test
	Models/check

unit-tests: install-test
	swift build --build-tests
	Scripts/run-tests

# The documentation of the libraries, in which a warning is an error. It says where it puts them; for a
# browser: python3 -m http.server -d ….doccarchive, and then http://localhost:8000/documentation/operations
LIBRARIES = Operations OperationsTestKit OperationsTelemetry PhotoPipeline

docs: install-run
	swift package generate-documentation $(LIBRARIES:%=--target %) --warnings-as-errors

# The framework and its telemetry twice more, alone, so that the app's dependencies need no second build:
# optimised, as people run it, and under the thread sanitizer.
ALONE = OPERATIONS_ONLY=telemetry
OPTIMISED = -c release -Xswiftc -enable-testing --scratch-path .build-release-tests
SANITIZED = --sanitize thread -Xswiftc -DTHREAD_SANITIZER --scratch-path .build-tsan

release-tests:
	$(ALONE) swift build --build-tests $(OPTIMISED)
	$(ALONE) Scripts/run-tests $(OPTIMISED)

# The programs of the documentation, and what they print.
snippets:
	$(ALONE) swift build $(OPTIMISED)
	Scripts/check-snippets .build-release-tests/release

thread-sanitizer: export TSAN_OPTIONS = halt_on_error=1
thread-sanitizer:
	$(ALONE) swift build --build-tests $(SANITIZED)
	$(ALONE) Scripts/run-tests $(SANITIZED)

# The random graphs of the tests at the size of a night; OPERATIONS_STRESS_SEED=… repeats one round.
STRESS_OPERATIONS ?= 10000000

stress:
	$(ALONE) swift build --build-tests $(OPTIMISED)
	OPERATIONS_STRESS_OPERATIONS=$(STRESS_OPERATIONS) \
		$(ALONE) Scripts/run-tests $(OPTIMISED) --filter StressTests

# The pictures in the README: the page, seen by the tests' own browser.
screenshots: install-test
	SCREENSHOTS="$(CURDIR)/docs/images" swift test --disable-xctest --filter PageTests

install-run:
	@Scripts/install-packages libvips-dev pkg-config

install-test:
	@Scripts/install-packages libvips-dev pkg-config chromium chromium-driver spin gcc

clean:
	rm -rf .build .build-release-tests .build-tsan
