// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

char cmdline[1024];

static const char *find(const char *key)
{
	u64 n = strlen(key);
	for (const char *p = cmdline; *p;) {
		if (!strncmp(p, key, n) && p[n] == '=')
			return p + n + 1;
		while (*p && *p != ' ')
			p++;
		while (*p == ' ')
			p++;
	}
	return NULL;
}

const char *arg_text(const char *key, char *buf, u64 n)
{
	const char *v = find(key);
	u64 i = 0;
	if (!v)
		return NULL;
	for (; v[i] && v[i] != ' ' && i + 1 < n; i++)
		buf[i] = v[i];
	buf[i] = 0;
	return buf;
}

static const char *number(const char *p, u64 *out)
{
	u64 v = 0, base = 10;
	if (p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	for (;; p++) {
		u64 d = *p >= '0' && *p <= '9' ? *p - '0' : (*p | 32) >= 'a' && (*p | 32) <= 'f' ? (*p | 32) - 'a' + 10 : 99;
		if (d >= base)
			break;
		v = v * base + d;
	}
	*out = v;
	return p;
}

u64 arg_number(const char *key, u64 otherwise)
{
	const char *v = find(key);
	u64 n;
	if (!v)
		return otherwise;
	number(v, &n);
	return n;
}

bool arg_is(const char *key, const char *value)
{
	char buf[64];
	return arg_text(key, buf, sizeof(buf)) && !strcmp(buf, value);
}

u32 arg_numbers(const char *key, u64 *out, u32 n)
{
	const char *v = find(key);
	u32 count = 0;
	while (v && count < n && *v && *v != ' ') {
		const char *end = number(v, &out[count]);
		if (end == v)
			break;
		count++;
		v = *end == ',' ? end + 1 : end;
	}
	return count;
}
