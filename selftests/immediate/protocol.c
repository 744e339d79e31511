// SPDX-License-Identifier: GPL-2.0
/*
 * The byte protocol of immediate values on the real CPU, in user space: readers execute the
 * sites while the writer patches them, with membarrier() in place of the IPI and a SIGTRAP
 * handler in place of the kernel's int3 handler.  (An emulator that translates again at each
 * write cannot show torn cross-modified code.)
 *
 * Set n stores encode(n) in the variable and patches it into all sites; each eighth set takes
 * the sites back to the jmp instead.  Every read is checked: it must give the value of a set
 * from [last completed before it, last started after it].  "torn" counts values that no
 * set ever had, "outside" values of another set, "faults" signals that no int3 explains.
 */
#define _GNU_SOURCE
#include <err.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define USAGE "usage: protocol --form 4|8 [--seconds S] [--reads N]" \
	" [--negative none|no-int3|no-sync|late-store|torn-tail]"
#define EXIT_USAGE	2
#define READERS		2
#define HANG_SECONDS	10

#define SITES		8
#define HEAD		5	/* bytes of a jmp, and of what the int3 protocol writes */
#define MAX_SLOT	10
#define INT3		0xcc

/*
 * The sites, then their stubs at a fixed distance, then the variable in a page of its own.
 * Nothing else lies within 2 GiB, so that a torn jmp ends in a fault.  The lowest byte of the
 * distance is an int3, so that a REX.W before the rest of a jmp ends in a trap.
 */
#define CODE		0x100000000000UL
#define TO_STUB		0x20cc
#define VARIABLE	0x4000
#define SIZE		0x5000

static struct site {
	uint8_t *slot;		/* where the writer writes it */
	uintptr_t code;		/* where the readers execute it */
	uint8_t reg;
} sites[SITES];

/* No byte is 0x00 or 0xff: each set changes each byte, a mixture of two sets is no third. */
#define FACTOR		0x9e3779b97f4a7c15ULL
#define INVERSE		0xf1de83e19937733dULL

#define load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)

enum negative { NONE, NO_INT3, NO_SYNC, LATE_STORE, TORN_TAIL, NEGATIVES };

static const char * const negatives[NEGATIVES] = {
	"none", "no-int3", "no-sync", "late-store", "torn-tail",
};

struct reader {
	pthread_t thread;
	cpu_set_t cpu;
	sigjmp_buf again;
	uint64_t reads, traps, torn, outside, faults;
} __attribute__((aligned(64)));

static uint64_t form, seconds = 30, wanted;
static enum negative negative;

static uint8_t *alias;		/* of CODE, writable */
static struct reader reader[READERS];
static __thread struct reader *self;
static bool stop;

static uint64_t started __attribute__((aligned(64)));
static uint64_t completed __attribute__((aligned(64)));

static uint64_t mask(uint64_t value)
{
	return form == 8 ? value : (uint32_t)value;
}

static uint64_t encode(uint64_t n)
{
	return mask(n * FACTOR);
}

#define PITCH	512	/* from site to site; the last one goes over the end of the page */

/* Over and next to the borders of 8, 16, 32 and 64 bytes */
static const uint16_t offsets4[SITES] = { 0, 6, 13, 29, 60, 61, 62, 511 };
static const uint16_t offsets8[SITES] = { 0, 5, 11, 27, 55, 59, 62, 511 };

/* Those that a function may change, but rdi; the 4-byte form takes the first four, without REX */
static const uint8_t registers[SITES] = { 0, 1, 2, 6, 8, 9, 10, 11 };

/* The two states of a slot: the jmp to the stub and a nop behind it, or the value */
static void put_jmp(uint8_t *to, int32_t distance)
{
	to[0] = 0xe9;
	memcpy(to + 1, &distance, sizeof(distance));
}

static void put_nop(uint8_t *to)
{
	memcpy(to, "\x0f\x1f\x44\x00\x00", MAX_SLOT - HEAD);
}

static void put_mov(uint8_t *to, uint8_t reg, uint64_t value)
{
	if (form == 8)
		*to++ = 0x48 | reg >> 3;
	*to++ = 0xb8 | (reg & 7);
	memcpy(to, &value, form);
}

/* mov variable(%rip), %reg; jmp behind the slot */
static void put_stub(const struct site *site)
{
	uint8_t *to = site->slot + HEAD + TO_STUB;
	int32_t distance;

	if (form == 8)
		*to++ = 0x48 | site->reg >> 3 << 2;
	*to++ = 0x8b;
	*to++ = 0x05 | (site->reg & 7) << 3;
	distance = alias + VARIABLE - (to + sizeof(distance));
	memcpy(to, &distance, sizeof(distance));
	to += sizeof(distance);
	put_jmp(to, site->slot + (form == 8 ? MAX_SLOT : HEAD) - (to + HEAD));
}

/* The slot; mov %reg, 8 * i(%rdi); jmp to the next site, or ret */
static void put_site(unsigned int i)
{
	uint8_t *to = sites[i].slot;

	put_jmp(to, TO_STUB);
	to += HEAD;
	if (form == 8) {
		put_nop(to);
		to += MAX_SLOT - HEAD;
	}
	*to++ = 0x48 | sites[i].reg >> 3 << 2;
	*to++ = 0x89;
	*to++ = 0x47 | (sites[i].reg & 7) << 3;
	*to++ = 8 * i;
	if (i == SITES - 1)
		*to = 0xc3;
	else
		put_jmp(to, sites[i + 1].slot - (to + HEAD));
}

/*
 * Generate void code(uint64_t values[SITES]), which reads each site once, in the state jmp: a slot
 * of 5 bytes (4-byte form) or 10 bytes (8-byte form) for each, with its stub. Fills in sites[].
 */
static void put_code(void)
{
	const uint16_t *offsets = form == 8 ? offsets8 : offsets4;

	memset(alias, INT3, VARIABLE);
	for (unsigned int i = 0; i < SITES; i++) {
		sites[i].slot = alias + i * PITCH + offsets[i];
		sites[i].code = CODE + i * PITCH + offsets[i];
		sites[i].reg = registers[form == 8 ? i : i % 4];
	}
	for (unsigned int i = 0; i < SITES; i++) {
		put_site(i);
		put_stub(&sites[i]);
	}
}

static void sync_cores(void)
{
	if (negative != NO_SYNC &&
	    syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		err(EXIT_USAGE, "membarrier");
}

/* Write the first 5 bytes of all sites, as smp_text_poke_batch_finish() does. */
static void poke(uint8_t heads[SITES][MAX_SLOT])
{
	if (negative != NO_INT3) {
		for (unsigned int i = 0; i < SITES; i++)
			store(sites[i].slot, INT3);
		sync_cores();
	}
	for (unsigned int i = 0; i < SITES; i++)
		memcpy(sites[i].slot + 1, heads[i] + 1, HEAD - 1);
	sync_cores();
	for (unsigned int i = 0; i < SITES; i++)
		store(sites[i].slot, heads[i][0]);
	sync_cores();
}

static void poke_jmp(void)
{
	uint8_t heads[SITES][MAX_SLOT];

	for (unsigned int i = 0; i < SITES; i++)
		put_jmp(heads[i], TO_STUB);
	poke(heads);
}

static void patch(uint64_t value, bool from_mov)
{
	uint8_t slots[SITES][MAX_SLOT];

	for (unsigned int i = 0; i < SITES; i++)
		put_mov(slots[i], sites[i].reg, value);
	if (form == 8) {
		/* Nobody executes the tail behind a jmp: no int3, no sync of its own */
		if (from_mov && negative != TORN_TAIL)
			poke_jmp();
		for (unsigned int i = 0; i < SITES; i++)
			memcpy(sites[i].slot + HEAD, slots[i] + HEAD, MAX_SLOT - HEAD);
	}
	poke(slots);
}

/*
 * LATE_STORE stores after the sites are said to be done.  (A store after the poke but before
 * that looks like a right one: until then both values are allowed.)
 */
static void set(uint64_t n)
{
	uint64_t *variable = (uint64_t *)(alias + VARIABLE);

	store(&started, n);
	if (negative != LATE_STORE)
		store(variable, encode(n));
	if (n % 8) {
		patch(encode(n), n % 8 > 1);
	} else {
		poke_jmp();
		for (unsigned int i = 0; i < SITES && form == 8; i++)
			put_nop(sites[i].slot + HEAD);
	}
	store(&completed, n);
	if (negative == LATE_STORE) {
		for (unsigned int i = 0; i < 1000; i++)
			__builtin_ia32_pause();
		store(variable, encode(n));
	}
}

/* A trap of the writer's: do what the jmp would have done.  Anything else is a fault. */
static void on_signal(int number, siginfo_t *info __attribute__((unused)), void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if (!self) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	for (unsigned int i = 0; i < SITES && number == SIGTRAP; i++) {
		if (*rip == (greg_t)sites[i].code + 1) {
			*rip = sites[i].code + HEAD + TO_STUB;
			self->traps++;
			return;
		}
	}
	self->faults++;
	siglongjmp(self->again, 1);
}

/*
 * Needs no fence: a core that sees completed raised has been through the sync before, and
 * fetches the sites again; and it loads started after it has fetched them.
 */
static void *read_sites(void *arg)
{
	void (*code)(uint64_t *) = (void (*)(uint64_t *))CODE;
	uint64_t values[SITES];

	self = arg;
	if (sched_setaffinity(0, sizeof(self->cpu), &self->cpu))
		err(EXIT_USAGE, "sched_setaffinity");
	sigsetjmp(self->again, 0);
	while (!load(&stop)) {
		uint64_t from = load(&completed), to;

		code(values);
		to = load(&started);
		for (unsigned int i = 0; i < SITES; i++) {
			uint64_t n = mask(values[i] * INVERSE);

			if (n > load(&started) || encode(n) != values[i])
				self->torn++;
			else if (n < from || n > to)
				self->outside++;
		}
		__atomic_store_n(&self->reads, self->reads + SITES, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void prepare(void)
{
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	int fd = memfd_create("sites", MFD_CLOEXEC);
	cpu_set_t cpus;
	void *code;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) < 2)
		errx(EXIT_USAGE, "needs 2 CPUs: one reads while the other one writes");
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		err(EXIT_USAGE, "membarrier(PRIVATE_EXPEDITED_SYNC_CORE)");
	if (fd < 0 || ftruncate(fd, SIZE))
		err(EXIT_USAGE, "memfd_create");
	alias = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	code = mmap((void *)CODE, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE,
		    fd, 0);
	if (alias == MAP_FAILED || code != (void *)CODE)
		err(EXIT_USAGE, "no executable mapping");
	for (unsigned int i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	put_code();
	/* One reader for each CPU, then again: wherever the writer runs, others go on reading. */
	for (unsigned int i = 0; i < READERS; i++, cpu++) {
		while (!CPU_ISSET(cpu % CPU_SETSIZE, &cpus))
			cpu++;
		CPU_SET(cpu % CPU_SETSIZE, &reader[i].cpu);
	}
}

/* Start the readers, set until the time is over or the reads are done; prints the figures */
static int run(void)
{
	uint64_t sum = 0, traps = 0, torn = 0, outside = 0, faults = 0, n = 0;
	struct timespec start, now;
	double took = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned int i = 0; i < READERS; i++) {
		if (pthread_create(&reader[i].thread, NULL, read_sites, &reader[i]))
			errx(EXIT_USAGE, "pthread_create failed");
	}
	while (took < seconds && (!wanted || sum < wanted)) {
		set(++n);
		clock_gettime(CLOCK_MONOTONIC, &now);
		took = now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9;
		sum = 0;
		for (unsigned int i = 0; i < READERS; i++)
			sum += __atomic_load_n(&reader[i].reads, __ATOMIC_RELAXED);
	}
	store(&stop, true);
	alarm(HANG_SECONDS);
	sum = 0;
	for (unsigned int i = 0; i < READERS; i++) {
		pthread_join(reader[i].thread, NULL);
		sum += reader[i].reads;
		traps += reader[i].traps;
		torn += reader[i].torn;
		outside += reader[i].outside;
		faults += reader[i].faults;
	}
	printf("form=%lu negative=%s readers=%d sites=%d reads=%lu sets=%lu traps=%lu torn=%lu "
	       "outside=%lu faults=%lu seconds=%.1f\n", form, negatives[negative], READERS, SITES,
	       sum, n, traps, torn, outside, faults, took);
	return torn || outside || faults || !sum || sum < wanted;
}

static uint64_t parse(const char *text, uint64_t most)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value > most)
		errx(EXIT_USAGE, "%s is not a number up to %lu", text, most);
	return value;
}

static enum negative find_negative(const char *name)
{
	for (unsigned int i = 0; i < NEGATIVES; i++) {
		if (!strcmp(name, negatives[i]))
			return i;
	}
	errx(EXIT_USAGE, "%s is no negative control", name);
}

int main(int argc, char **argv)
{
	/* Each option has a value */
	for (int i = 1; i < argc; i += 2) {
		const char *name = argv[i], *value = argv[i + 1];

		if (!value)
			errx(EXIT_USAGE, USAGE);
		else if (!strcmp(name, "--form"))
			form = parse(value, 8);
		else if (!strcmp(name, "--seconds"))
			seconds = parse(value, 86400);
		else if (!strcmp(name, "--reads"))
			wanted = parse(value, INT64_MAX);
		else if (!strcmp(name, "--negative"))
			negative = find_negative(value);
		else
			errx(EXIT_USAGE, USAGE);
	}
	if ((form != 4 && form != 8) || (negative == TORN_TAIL && form != 8))
		errx(EXIT_USAGE, USAGE);
	prepare();
	return run();
}
