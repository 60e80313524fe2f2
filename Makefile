# The two commands of this project:
#
#   make run     installs what is missing, builds, and shows the demo (or SOURCE=… ) as a web page
#   make test    installs what is missing, builds everything and runs every check
#
# Both need a Swift toolchain and, for what they install, apt. Running them again is quick.

SOURCE ?=
PORT ?= 8080
ARGS ?=

.PHONY: run test build install-run install-test lint thread-sanitizer unit-tests screenshots clean

run: install-run
	swift build -c release --product classicphotos
	.build/release/classicphotos serve $(if $(SOURCE),"$(SOURCE)") --port $(PORT) $(ARGS)

build: install-run
	swift build -c release --product classicphotos

test: install-test lint unit-tests thread-sanitizer
	@echo "Everything passed."

# Each check alone, for whoever works on one thing.

lint:
	swift format lint --strict --parallel --recursive Package.swift Snippets Sources Tests

unit-tests: install-test
	swift build --build-tests
	swift test --skip-build --disable-xctest

# The framework once more under the thread sanitizer, alone, so that its dependencies need no second
# build.
TSAN = --sanitize thread --scratch-path .build-tsan -Xswiftc -DTHREAD_SANITIZER
thread-sanitizer:
	OPERATIONS_ONLY=1 swift build --build-tests $(TSAN)
	TSAN_OPTIONS=halt_on_error=1 OPERATIONS_ONLY=1 \
	    swift test --skip-build --disable-xctest $(TSAN)

# The pictures in the README: the page, seen by the tests' own browser.
screenshots: install-test
	SCREENSHOTS="$(CURDIR)/docs/images" swift test --disable-xctest --filter PageTests

install-run:
	@Scripts/install-packages libvips-dev pkg-config

install-test:
	@Scripts/install-packages libvips-dev pkg-config chromium chromium-driver

clean:
	rm -rf .build .build-tsan
