// SPDX-License-Identifier: GPL-2.0
/*
 * Times walks over the hot cache lines of many tasks in user space, on the real CPU: dependent
 * loads, one for each line. Where the lines are, a file says (layouts.py writes it).
 *
 * usage: tasks FILE ROUNDS
 *
 * Lines of the file:
 *   walk|lock small|huge PAGES COLOURS   first: what to do; memory in pages of 4 KiB or, as far as
 *                                        there are any, 2 MiB
 *   frame PAGE COLOUR                    this page has a frame whose number is COLOUR modulo
 *                                        COLOURS (small, as root)
 *   case CELL LAYOUT LINE...             numbers of cache lines in the order of the walk, each
 *                                        once; cases of one CELL follow each other
 *
 * walk: a line of JSON for each case and round, cycles of the time-stamp counter for a load, the
 * best of three. lock: as many threads as there are CPUs, at most four, one on each, take one
 * spinlock and walk, then work for a while that does not depend on the layout; three lines of JSON:
 * cycles of the lock being held, mean and maximum, and the acquisitions in percent that found it
 * taken. More threads than CPUs would be preempted in the lock. In each round all layouts of a cell
 * take their turn.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "tsc.h"

#define LINE		64UL
#define PAGE		4096UL
#define HUGE_PAGE	(2UL << 20)
#define MAX_PAGES	(1UL << 20)
#define MAX_COLOURS	1024
#define MAX_THREADS	4
#define LOADS		20000	/* at least so many in one sample */
#define TURNS		3	/* of which the shortest counts: others only add */
#define ACQUISITIONS	100	/* of each thread in one sample */
#define PRIVATE		100	/* cycles of work between two of them for each task, on average */
#define POOL		4096UL	/* frames that are looked at together */

struct frame {
	unsigned long page, colour;
	uint64_t number;
};

struct walk {
	char *cell, *layout;
	uint32_t *lines;
	size_t count;
};

static struct walk *cases;
static struct frame *frames;
static size_t case_count, frame_count;
static unsigned long pages, colours;
static bool locked, huge;
static char *memory;

static void *grown(void *array, size_t count, size_t size)
{
	/* Doubled each time that a power of two is full */
	if (!(count & (count - 1)))
		array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		errx(2, "out of memory");
	return array;
}

static void *mapped(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(2, "mmap");
	return at;
}

/* The next word as a number below limit; false if it is none */
static bool number(char **words, unsigned long limit, unsigned long *value)
{
	const char *word = strsep(words, " ");
	char *end;

	if (!word || *word < '0' || *word > '9')
		return false;
	errno = 0;
	*value = strtoul(word, &end, 10);
	return !*end && !errno && *value < limit;
}

static bool header(char **words)
{
	const char *what = strsep(words, " "), *kind = strsep(words, " ");

	if (!kind || !number(words, MAX_PAGES + 1, &pages) ||
	    !number(words, MAX_COLOURS + 1, &colours))
		return false;
	locked = !strcmp(what, "lock");
	huge = !strcmp(kind, "huge");
	return pages && colours && (locked || !strcmp(what, "walk")) &&
	       (huge || !strcmp(kind, "small"));
}

static bool frame(char **words)
{
	struct frame new = { 0 };

	if (huge || !number(words, pages, &new.page) || !number(words, colours, &new.colour))
		return false;
	frames = grown(frames, frame_count, sizeof(*frames));
	frames[frame_count++] = new;
	return true;
}

static bool add_case(char **words)
{
	struct walk new = { .cell = strsep(words, " ") };
	unsigned long line;

	new.layout = strsep(words, " ");
	while (*words) {
		if (!number(words, pages * (PAGE / LINE), &line))
			return false;
		new.lines = grown(new.lines, new.count, sizeof(*new.lines));
		new.lines[new.count++] = line;
	}
	cases = grown(cases, case_count, sizeof(*cases));
	cases[case_count++] = new;
	return new.count;
}

static void read_cases(const char *name)
{
	FILE *file = fopen(name, "r");
	char *text = NULL, *words;
	size_t room = 0, nr = 0;

	if (!file)
		err(2, "%s", name);
	while (getline(&text, &room, file) > 0) {
		bool good;

		text[strcspn(text, "\n")] = 0;
		words = text;
		if (!nr++)
			good = header(&words);
		else if (!strncmp(text, "frame ", 6))
			good = strsep(&words, " ") && frame(&words);
		else
			good = !strncmp(text, "case ", 5) && strsep(&words, " ") &&
			       add_case(&words);
		if (!good)
			errx(2, "%s: line %zu is wrong", name, nr);
		/* The cases keep their names */
		text = NULL;
		room = 0;
	}
	fclose(file);
	if (!case_count)
		errx(2, "%s: no case", name);
}

/* The number of the frame that holds an address */
static uint64_t frame_of(const void *at)
{
	static int map = -1;
	uint64_t entry = 0;

	if (map < 0)
		map = open("/proc/self/pagemap", O_RDONLY);
	if (pread(map, &entry, sizeof(entry), (uintptr_t)at / PAGE * sizeof(entry)) !=
	    sizeof(entry) || !(entry >> 63))
		errx(2, "/proc/self/pagemap cannot be read");
	entry &= (1ULL << 55) - 1;
	if (!entry)
		errx(2, "/proc/self/pagemap has frame numbers for root only");
	return entry;
}

/* Move frames of a pool to the pages that want their colour, until all have one */
static void choose_frames(void)
{
	size_t left = frame_count, looked = 0;

	while (left) {
		char *pool = mapped(POOL * PAGE);

		madvise(pool, POOL * PAGE, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < POOL && left; i++) {
			char *at = pool + i * PAGE;
			uint64_t found;
			size_t f;

			*at = 1;
			found = frame_of(at);
			for (f = 0; f < frame_count; f++)
				if (!frames[f].number && frames[f].colour == found % colours)
					break;
			if (f == frame_count)
				continue;
			if (mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				   memory + frames[f].page * PAGE) == MAP_FAILED)
				err(2, "mremap");
			frames[f].number = found;
			left--;
		}
		looked += POOL;
		if (left && looked > MAX_PAGES)
			errx(2, "%zu frames of the colours asked for were not found", left);
	}
}

static void make_memory(void)
{
	size_t bytes = pages * PAGE;

	memory = mapped(bytes + HUGE_PAGE);
	memory = (char *)(((uintptr_t)memory + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	choose_frames();
	/* Before the first sample, and huge pages from their beginning on */
	if (huge)
		memset(memory, 1, bytes);
	for (size_t c = 0; c < case_count; c++)
		for (size_t i = 0; i < cases[c].count; i++)
			memory[cases[c].lines[i] * LINE] = 1;
}

static void **line_at(const struct walk *w, size_t i)
{
	return (void **)(memory + w->lines[i] * LINE);
}

static void chain(const struct walk *w)
{
	for (size_t i = 0; i < w->count; i++)
		*line_at(w, i) = line_at(w, (i + 1) % w->count);
}

static void walk(const struct walk *w, size_t passes)
{
	size_t loads = passes * w->count;
	void **p = line_at(w, 0);

	while (loads--)
		p = *p;
	asm volatile("" : : "r" (p));
}

static void print(const char *what, const struct walk *w, double result)
{
	printf("{\"cell\": \"%s%s\", \"layout\": \"%s\", \"cycles\": %.3f}\n",
	       w->cell, what, w->layout, result);
}

static void time_walk(const struct walk *w)
{
	size_t passes = (LOADS + w->count - 1) / w->count;
	uint64_t least = UINT64_MAX;

	chain(w);
	walk(w, 2);
	for (int turn = 0; turn < TURNS; turn++) {
		uint64_t start = cycles(), took;

		walk(w, passes);
		took = cycles() - start;
		if (took < least)
			least = took;
	}
	print("", w, (double)least / passes / w->count);
}

static struct {
	const struct walk *walk;
	pthread_barrier_t start;
	int taken __attribute__((aligned(128)));
} shared;

struct thread {
	pthread_t id;
	unsigned int cpu;
	uint32_t random;
	uint64_t held, longest, contended;
} __attribute__((aligned(128)));

static uint32_t drawn(struct thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	return t->random;
}

static bool take(void)
{
	bool contended = __atomic_exchange_n(&shared.taken, 1, __ATOMIC_ACQUIRE);

	if (!contended)
		return false;
	do {
		while (__atomic_load_n(&shared.taken, __ATOMIC_RELAXED))
			_mm_pause();
	} while (__atomic_exchange_n(&shared.taken, 1, __ATOMIC_ACQUIRE));
	return true;
}

/* Between half and one and a half of PRIVATE for each task: else two threads fall into step */
static void work(struct thread *t, size_t tasks)
{
	uint64_t end = __rdtsc() + tasks * PRIVATE / 2 + drawn(t) % (tasks * PRIVATE);

	while (__rdtsc() < end)
		_mm_pause();
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

static void *schedule(void *argument)
{
	struct thread *t = argument;
	const struct walk *w = shared.walk;

	pin(t->cpu);
	walk(w, 2);
	pthread_barrier_wait(&shared.start);
	for (size_t i = 0; i < ACQUISITIONS; i++) {
		uint64_t start, held;

		t->contended += take();
		start = cycles();
		walk(w, 1);
		/* What schedule() writes of the task it has chosen */
		((uint64_t *)line_at(w, drawn(t) % w->count))[1]++;
		held = cycles() - start;
		__atomic_store_n(&shared.taken, 0, __ATOMIC_RELEASE);
		t->held += held;
		if (held > t->longest)
			t->longest = held;
		work(t, w->count);
	}
	return NULL;
}

static void time_lock(const struct walk *w, const unsigned int *cpus, unsigned int n)
{
	struct thread threads[MAX_THREADS] = { 0 };
	uint64_t held = 0, longest = 0, contended = 0;

	chain(w);
	shared.walk = w;
	pthread_barrier_init(&shared.start, NULL, n);
	for (unsigned int i = 0; i < n; i++) {
		threads[i].cpu = cpus[i];
		threads[i].random = 2463534242 + i;
		if (pthread_create(&threads[i].id, NULL, schedule, &threads[i]))
			errx(2, "pthread_create fails");
	}
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(threads[i].id, NULL);
		held += threads[i].held;
		contended += threads[i].contended;
		if (threads[i].longest > longest)
			longest = threads[i].longest;
	}
	pthread_barrier_destroy(&shared.start);
	print("_mean", w, (double)held / n / ACQUISITIONS);
	print("_max", w, longest);
	print("_contended", w, 100.0 * contended / n / ACQUISITIONS);
}

int main(int argc, char **argv)
{
	unsigned int cpus[MAX_THREADS], n = 0;
	char *end = NULL;
	long rounds = argc == 3 ? strtol(argv[2], &end, 10) : 0;
	cpu_set_t set;

	if (rounds < 1 || rounds > 1000000 || *end)
		errx(2, "usage: tasks FILE ROUNDS");
	read_cases(argv[1]);
	if (sched_getaffinity(0, sizeof(set), &set))
		err(2, "sched_getaffinity");
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE && n < MAX_THREADS; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	if (!locked)
		pin(sched_getcpu());
	make_memory();
	for (long round = 0; round < rounds; round++) {
		for (size_t first = 0, count; first < case_count; first += count) {
			for (count = 1; first + count < case_count; count++)
				if (strcmp(cases[first].cell, cases[first + count].cell))
					break;
			for (size_t i = 0; i < count; i++) {
				const struct walk *w = &cases[first + (i + round) % count];

				if (locked)
					time_lock(w, cpus, n);
				else
					time_walk(w);
			}
		}
	}
	/* What the kernel has moved meanwhile would be measured as what it is not */
	for (size_t f = 0; f < frame_count; f++)
		if (frame_of(memory + frames[f].page * PAGE) != frames[f].number)
			errx(2, "the kernel has moved page %lu", frames[f].page);
	return 0;
}
