// SPDX-License-Identifier: GPL-2.0
/*
 * The byte protocol of immediate values on the real CPU, in user space: readers execute the
 * sites while the writer patches them, with membarrier() in place of the IPI and a SIGTRAP
 * handler in place of the kernel's int3 handler.  (An emulator that translates again at each
 * write cannot show torn cross-modified code.)
 *
 * Set n stores encode(n) in the variable and patches it into all sites; each eighth set takes
 * the sites back to the load instead.  Every read is checked: it must give the value of a set
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
	" [--negative none|no-int3|no-sync|late-store]"
#define EXIT_USAGE	2
#define READERS		2
#define HANG_SECONDS	10

#define SITES		8
#define JMP_SIZE	5
#define MAX_SIZE	10
#define INT3		0xcc

/*
 * The sites, then the variable in a page of its own.  Nothing else lies within 2 GiB, so that
 * what is torn ends in a fault.
 */
#define CODE		0x100000000000UL
#define VARIABLE	0x4000
#define SIZE		0x5000

static struct site {
	uint8_t *text;		/* where the writer writes it */
	uintptr_t code;		/* where the readers execute it */
	uint8_t reg, size;
} sites[SITES];

/* No byte is 0x00 or 0xff: each set changes each byte, a mixture of two sets is no third. */
#define FACTOR		0x9e3779b97f4a7c15ULL
#define INVERSE		0xf1de83e19937733dULL

#define load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)

enum negative { NONE, NO_INT3, NO_SYNC, LATE_STORE, NEGATIVES };

static const char * const negatives[NEGATIVES] = {
	"none", "no-int3", "no-sync", "late-store",
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
static const uint16_t offsets4[SITES] = { 0, 3, 12, 28, 58, 60, 62, 511 };
static const uint16_t offsets8[SITES] = { 0, 5, 11, 27, 55, 59, 62, 511 };

/* Those that a function may change, but rdi; and what they are in a context */
static const uint8_t registers[SITES] = { 0, 1, 2, 6, 8, 9, 10, 11 };
static const int gregs[SITES] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_R8, REG_R9, REG_R10, REG_R11,
};

static void put_jmp(uint8_t *to, int32_t distance)
{
	to[0] = 0xe9;
	memcpy(to + 1, &distance, sizeof(distance));
}

/* The two states of a site: mov variable(%rip), %reg, for 8 bytes with three ds before it ... */
static void put_load(const struct site *site, uint8_t *to)
{
	int32_t distance = alias + VARIABLE - (site->text + site->size);

	if (form == 8) {
		memset(to, 0x3e, 3);
		to += 3;
		*to++ = 0x48 | site->reg >> 3 << 2;
	} else if (site->reg >> 3) {
		*to++ = 0x44;
	}
	*to++ = 0x8b;
	*to++ = 0x05 | (site->reg & 7) << 3;
	memcpy(to, &distance, sizeof(distance));
}

/* ... and mov $value, %reg, of the same size */
static void put_mov(const struct site *site, uint8_t *to, uint64_t value)
{
	if (form == 8) {
		*to++ = 0x48 | site->reg >> 3;
		*to++ = 0xb8 | (site->reg & 7);
	} else {
		if (site->reg >> 3)
			*to++ = 0x41;
		*to++ = 0xc7;
		*to++ = 0xc0 | (site->reg & 7);
	}
	memcpy(to, &value, form);
}

/* The site; mov %reg, 8 * i(%rdi); jmp to the next site, or ret */
static void put_site(unsigned int i)
{
	uint8_t *to = sites[i].text;

	put_load(&sites[i], to);
	to += sites[i].size;
	*to++ = 0x48 | sites[i].reg >> 3 << 2;
	*to++ = 0x89;
	*to++ = 0x47 | (sites[i].reg & 7) << 3;
	*to++ = 8 * i;
	if (i == SITES - 1)
		*to = 0xc3;
	else
		put_jmp(to, sites[i + 1].text - (to + JMP_SIZE));
}

/*
 * Generate void code(uint64_t values[SITES]), which reads each site once, all in the state load:
 * sites of 6 or 7 bytes (4-byte form) or of 10 bytes (8-byte form).  Fills in sites[].
 */
static void put_code(void)
{
	const uint16_t *offsets = form == 8 ? offsets8 : offsets4;

	memset(alias, INT3, VARIABLE);
	for (unsigned int i = 0; i < SITES; i++) {
		sites[i].text = alias + i * PITCH + offsets[i];
		sites[i].code = CODE + i * PITCH + offsets[i];
		sites[i].reg = registers[i];
		sites[i].size = form == 8 ? 10 : 6 + (registers[i] >> 3);
	}
	for (unsigned int i = 0; i < SITES; i++)
		put_site(i);
}

static void sync_cores(void)
{
	if (negative != NO_SYNC &&
	    syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		err(EXIT_USAGE, "membarrier");
}

/*
 * Write all sites, as smp_text_poke_batch_finish() does.  The protocol does not say in how
 * many stores the rest is written: here in two, half of the value each, with time between them if
 * there is no int3.
 */
static void poke(uint8_t texts[SITES][MAX_SIZE])
{
	if (negative != NO_INT3) {
		for (unsigned int i = 0; i < SITES; i++)
			store(sites[i].text, INT3);
		sync_cores();
	}
	for (unsigned int i = 0; i < SITES; i++)
		memcpy(sites[i].text + 1, texts[i] + 1, sites[i].size - 1 - form / 2);
	if (negative == NO_INT3)
		sync_cores();
	for (unsigned int i = 0; i < SITES; i++) {
		unsigned int half = sites[i].size - form / 2;

		memcpy(sites[i].text + half, texts[i] + half, form / 2);
	}
	sync_cores();
	for (unsigned int i = 0; i < SITES; i++)
		store(sites[i].text, texts[i][0]);
	sync_cores();
}

/* The values, or the loads; these not without the int3, where any bytes would be executed */
static void patch(uint64_t n)
{
	uint8_t texts[SITES][MAX_SIZE];

	for (unsigned int i = 0; i < SITES; i++) {
		if (n % 8 || negative == NO_INT3)
			put_mov(&sites[i], texts[i], encode(n));
		else
			put_load(&sites[i], texts[i]);
	}
	poke(texts);
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
	patch(n);
	store(&completed, n);
	if (negative == LATE_STORE) {
		for (unsigned int i = 0; i < 1000; i++)
			__builtin_ia32_pause();
		store(variable, encode(n));
	}
}

/* A trap of the writer's: do the load, and go on behind it.  Anything else is a fault. */
static void on_signal(int number, siginfo_t *info __attribute__((unused)), void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (!self) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	for (unsigned int i = 0; i < SITES && number == SIGTRAP; i++) {
		if (regs[REG_RIP] == (greg_t)sites[i].code + 1) {
			regs[gregs[i]] = mask(load((uint64_t *)(alias + VARIABLE)));
			regs[REG_RIP] = sites[i].code + sites[i].size;
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
	/* From the loads to values while nobody executes them: NO_INT3 could not do that later */
	set(1);
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
	uint64_t sum = 0, traps = 0, torn = 0, outside = 0, faults = 0, n = 1;
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
	if (form != 4 && form != 8)
		errx(EXIT_USAGE, USAGE);
	prepare();
	return run();
}
