/* SPDX-License-Identifier: GPL-2.0 */
/*
 * size_t copy_prefetch(void *dst, const void *src, size_t bytes)
 *
 * Non-temporal stores as copy_to_nontemporal() has them, with the source prefetched past the caches
 * as in the posting of 2005: is that worth a second routine? For multiples of 64 bytes and an
 * aligned destination only. Returns 0.
 */
#define AHEAD	320	/* bytes, the distance of the posting */

	.text
	.globl	copy_prefetch
	.type	copy_prefetch, @function
	.p2align 4
copy_prefetch:
	prefetchnta AHEAD(%rsi)
	movq	(%rsi), %r8
	movq	8(%rsi), %r9
	movq	16(%rsi), %r10
	movq	24(%rsi), %r11
	movnti	%r8, (%rdi)
	movnti	%r9, 8(%rdi)
	movnti	%r10, 16(%rdi)
	movnti	%r11, 24(%rdi)
	movq	32(%rsi), %r8
	movq	40(%rsi), %r9
	movq	48(%rsi), %r10
	movq	56(%rsi), %r11
	movnti	%r8, 32(%rdi)
	movnti	%r9, 40(%rdi)
	movnti	%r10, 48(%rdi)
	movnti	%r11, 56(%rdi)
	addq	$64, %rsi
	addq	$64, %rdi
	subq	$64, %rdx
	jnz	copy_prefetch
	sfence
	xorl	%eax, %eax
	ret
	.size	copy_prefetch, . - copy_prefetch

	.section .note.GNU-stack, "", @progbits
