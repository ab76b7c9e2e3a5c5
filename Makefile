# mcp.h is one file: to use it, copy it. This Makefile builds the examples and runs the tests; GNU make and BSD make.
#
#   make            the examples, among them the command build/mcp
#   make demo       a client talks to a server, in some seconds
#   make test       all that needs only a C compiler; about a minute
#   make check      all that can run here; prints a line for each thing that is missing
#   make check-...  one of them: compile budget asan msan m32 s390x valgrind analyze json-suite schema-suite sanitize patterns faults names peers
#   make fuzz       libFuzzer on JSON, patterns, framing, server, client, and both over descriptors, FUZZ_SECONDS (60) each; needs clang
#   make soak       server and clients under random load for SOAK_SECONDS (30)
#   make mutate     breaks mcp.h in one place at a time and sees that a test notices; half an hour, or SAMPLE=18: every 18th
#   make coverage   which lines of mcp.h no test program reaches; needs gcc and gcov
#   make bench      speed and memory as ratios to bare programs; half a minute
#   make install    header, command and pkg-config file under $(DESTDIR)$(PREFIX)
#
# CC CXX CPPFLAGS CFLAGS LDFLAGS LDLIBS PREFIX DESTDIR are honoured.

CC      ?= cc
CXX     ?= c++
CFLAGS  ?=
PREFIX  ?= /usr/local
VERSION  = 0.1.0

B        = build
COMPILE  = $(CC) -std=c99 -O1 $(CPPFLAGS) -I. $(CFLAGS)
LINK     = $(LDFLAGS) -lpthread $(LDLIBS)
ENV      = BUILD='$(B)' CC='$(CC)' CXX='$(CXX)' CPPFLAGS='$(CPPFLAGS)' CFLAGS='$(CFLAGS)' LDFLAGS='$(LDFLAGS)' LDLIBS='$(LDLIBS)'
RUN      = $(ENV) sh tests/run.sh

EXAMPLES = $(B)/hello_server $(B)/hello_client $(B)/loop_client $(B)/worker_server $(B)/unix_server \
           $(B)/docs_server $(B)/ask_server $(B)/ask_client $(B)/sanitize $(B)/agent $(B)/mcp
FIXTURES = $(B)/faults_json $(B)/faults_server $(B)/faults_client \
           $(B)/conformance_server $(B)/conformance_client \
           $(B)/peer_client \
           $(B)/validate \
           $(B)/names

all: examples
examples: $(EXAMPLES) $(B)/fixed_server
fixtures: $(FIXTURES) $(B)/sanitize

# Programs share one object file with the implementation, which takes longer than all of them; by hand, each is its own `cc FILE`.
$(B)/mcp.o: mcp.h
	@mkdir -p $(B)
	$(COMPILE) -DMCP_IMPLEMENTATION -x c -c -o $@ mcp.h

$(EXAMPLES): $(B)/mcp.o
	$(COMPILE) -DMCP_IMPLEMENTED -o $@ examples/$(@F).c $(B)/mcp.o $(LINK)
$(B)/hello_server: examples/hello_server.c
$(B)/hello_client: examples/hello_client.c
$(B)/loop_client: examples/loop_client.c
$(B)/worker_server: examples/worker_server.c
$(B)/unix_server: examples/unix_server.c
$(B)/docs_server: examples/docs_server.c
$(B)/ask_client: examples/ask_client.c
$(B)/ask_server: examples/ask_server.c
$(B)/sanitize: examples/sanitize.c
$(B)/agent: examples/agent.c
$(B)/mcp: examples/mcp.c

$(B)/fixed_server: examples/fixed_server.c mcp.h            # has an implementation of its own, without most of it
	@mkdir -p $(B)
	$(COMPILE) -o $@ examples/fixed_server.c $(LINK)

$(FIXTURES): $(B)/mcp.o
	$(COMPILE) -DMCP_IMPLEMENTED -o $@ tests/fixtures/$(@F).c $(B)/mcp.o $(LINK)
$(B)/faults_json: tests/fixtures/faults_json.c
$(B)/faults_server: tests/fixtures/faults_server.c
$(B)/faults_client: tests/fixtures/faults_client.c
$(B)/conformance_client: tests/fixtures/conformance_client.c
$(B)/conformance_server: tests/fixtures/conformance_server.c
$(B)/peer_client: tests/fixtures/peer_client.c
$(B)/validate: tests/fixtures/validate.c
$(B)/names: tests/fixtures/names.c

demo: examples
	@sh examples/demo.sh $(B)

# Each of these ends with the line `N passed, N failed`. What is missing on this machine is told in a line that begins with "skip".
test:
	@PROGRAMS='examples/*.c tests/fixtures/faults_server.c tests/fixtures/scripted_*.c' $(RUN) tests/test_*.c tests/examples.sh tests/readme.sh tests/compile/quick.sh tests/budget.sh tests/stale.sh

check:
	@LIMIT=900 PROGRAMS='examples/*.c tests/fixtures/faults_*.c tests/fixtures/conformance_*.c tests/fixtures/peer_client.c tests/fixtures/scripted_*.c' $(RUN) tests/test_*.c tests/examples.sh tests/readme.sh tests/budget.sh tests/stale.sh tests/counts.sh \
	    tests/compile/matrix.sh tests/analyze.sh tests/asan.sh tests/msan.sh tests/valgrind.sh tests/m32.sh tests/s390x.sh \
	    tests/json_suite.sh tests/schema_suite.sh tests/sanitize.sh tests/pattern_peer.sh tests/faults.sh tests/wire.sh tests/conformance.sh tests/names.sh tests/peers/check.sh

coverage:
	@$(RUN) -v tests/coverage.sh

fuzz:
	@$(RUN) -v tests/fuzz.sh

soak:
	@$(RUN) -v tests/soak.sh

mutate:
	@$(ENV) SAMPLE='$(SAMPLE)' sh tests/mutate.sh

bench:
	@$(ENV) sh tests/bench/bench.sh

check-compile:
	@$(RUN) -v tests/compile/matrix.sh
check-budget:
	@$(RUN) -v tests/budget.sh tests/counts.sh
check-asan:
	@$(RUN) -v tests/asan.sh
check-msan:
	@$(RUN) -v tests/msan.sh
check-m32:
	@$(RUN) -v tests/m32.sh
check-s390x:
	@$(RUN) -v tests/s390x.sh
check-valgrind:
	@$(RUN) -v tests/valgrind.sh
check-analyze:
	@$(RUN) -v tests/analyze.sh
check-json-suite: fixtures
	@$(RUN) -v tests/json_suite.sh
check-patterns:
	@$(RUN) -v tests/pattern_peer.sh
check-schema-suite:
	@$(RUN) -v tests/schema_suite.sh
check-sanitize:
	@$(RUN) -v tests/sanitize.sh
check-faults: fixtures
	@$(RUN) -v tests/faults.sh
check-peers: examples fixtures
	@$(RUN) -v tests/peers/check.sh
check-conformance: fixtures
	@$(RUN) -v tests/conformance.sh
check-names:
	@$(RUN) -v tests/names.sh
check-wire:
	@$(RUN) -v tests/wire.sh

install: $(B)/mcp
	mkdir -p $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig
	cp mcp.h $(DESTDIR)$(PREFIX)/include/mcp.h
	cp $(B)/mcp $(DESTDIR)$(PREFIX)/bin/mcp
	printf 'prefix=%s\nincludedir=$${prefix}/include\n\nName: mcp\nDescription: %s\nVersion: %s\nCflags: -I$${includedir}\n' \
	    '$(PREFIX)' 'Model Context Protocol server and client in one C header' '$(VERSION)' \
	    >$(DESTDIR)$(PREFIX)/lib/pkgconfig/mcp.pc

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/include/mcp.h $(DESTDIR)$(PREFIX)/bin/mcp $(DESTDIR)$(PREFIX)/lib/pkgconfig/mcp.pc

clean:
	rm -rf $(B)

.PHONY: bench coverage fuzz mutate soak all examples fixtures demo test check check-compile check-budget check-asan check-msan check-m32 check-s390x \
        check-valgrind check-analyze check-json-suite check-schema-suite check-sanitize check-patterns check-faults check-peers check-conformance check-wire check-names install uninstall clean
