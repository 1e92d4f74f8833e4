// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

void *memset(void *d, int c, u64 n)
{
	void *r = d;
	asm volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return r;
}

void *memcpy(void *d, const void *s, u64 n)
{
	void *r = d;
	asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
	return r;
}

int memcmp(const void *a, const void *b, u64 n)
{
	const u8 *x = a, *y = b;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

u64 strlen(const char *s)
{
	u64 n = 0;
	while (s[n])
		n++;
	return n;
}

int strncmp(const char *a, const char *b, u64 n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, ~0ul); }

char *strstr(const char *s, const char *what)
{
	u64 n = strlen(what);
	for (; *s; s++)
		if (!strncmp(s, what, n))
			return (char *)s;
	return n ? NULL : (char *)s;
}

struct out {
	char *p, *end;
};

static void put(struct out *o, char c)
{
	if (o->p < o->end)
		*o->p++ = c;
}

static void put_padded(struct out *o, const char *s, u64 n, int width, bool left, char pad)
{
	u64 fill = width > 0 && (u64)width > n ? width - n : 0;
	if (!left)
		for (; fill; fill--)
			put(o, pad);
	while (n--)
		put(o, *s++);
	for (; fill; fill--)
		put(o, ' ');
}

static void put_number(struct out *o, u64 v, u32 base, bool minus, int width, bool left, char pad)
{
	char buf[24];
	char *p = buf + sizeof(buf);
	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (minus && pad == '0') {
		put(o, '-');
		width--;
	} else if (minus) {
		*--p = '-';
	}
	put_padded(o, p, buf + sizeof(buf) - p, width, left, pad);
}

int vsnprintf(char *out, u64 n, const char *fmt, va_list ap)
{
	struct out o = {out, out + n - 1};

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		bool left = false;
		char pad = ' ';
		int width = 0, longs = 0;

		for (fmt++; *fmt == '-' || *fmt == '0'; fmt++) {
			left |= *fmt == '-';
			if (*fmt == '0')
				pad = '0';
		}
		for (; *fmt >= '0' && *fmt <= '9'; fmt++)
			width = width * 10 + (*fmt - '0');
		for (; *fmt == 'l' || *fmt == 'h' || *fmt == 'z'; fmt++)
			longs += *fmt != 'h';
		switch (*fmt) {
		case 'd':
		case 'i': {
			s64 v = longs ? va_arg(ap, s64) : va_arg(ap, int);
			put_number(&o, v < 0 ? -(u64)v : (u64)v, 10, v < 0, width, left, pad);
			break;
		}
		case 'u':
		case 'x': {
			u64 v = longs ? va_arg(ap, u64) : va_arg(ap, u32);
			put_number(&o, v, *fmt == 'u' ? 10 : 16, false, width, left, pad);
			break;
		}
		case 'p':
			put(&o, '0');
			put(&o, 'x');
			put_number(&o, (u64)va_arg(ap, void *), 16, false, width, left, pad);
			break;
		case 'c': {
			char c = va_arg(ap, int);
			put_padded(&o, &c, 1, width, left, ' ');
			break;
		}
		case 's': {
			const char *s = va_arg(ap, const char *);
			put_padded(&o, s ? s : "(null)", strlen(s ? s : "(null)"), width, left, ' ');
			break;
		}
		case 0:
			fmt--;
			break;
		default:
			put(&o, *fmt);
		}
	}
	*o.p = 0;
	return o.p - out;
}

int snprintf(char *out, u64 n, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int r = vsnprintf(out, n, fmt, ap);
	va_end(ap);
	return r;
}

void console_write(const char *s, u64 n)
{
	if (hypercall_ready && hypercall3(HYPERCALL_console_io, CONSOLEIO_write, n, (u64)s) == 0)
		return;
	while (n--)
		outb(0xe9, *s++);
}

int printf(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	console_write(line, n);
	return n;
}
