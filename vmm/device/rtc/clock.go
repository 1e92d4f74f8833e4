// SPDX-License-Identifier: Apache-2.0

package rtc

import "time"

// latch writes the current time into the registers, in the format that
// register B asks for. A year outside 0..9999 keeps its last four digits.
func (k *Clock) latch() {
	t := time.Unix(k.now().Unix()+k.offset, 0).UTC()
	year := ((t.Year() % 10000) + 10000) % 10000
	k.ram[regSeconds] = k.encode(t.Second())
	k.ram[regMinutes] = k.encode(t.Minute())
	k.ram[regHours] = k.encodeHour(t.Hour())
	k.ram[regWeekday] = k.encode(int(t.Weekday()) + 1)
	k.ram[regDay] = k.encode(t.Day())
	k.ram[regMonth] = k.encode(int(t.Month()))
	k.ram[regYear] = k.encode(year % 100)
	k.ram[regCentury] = k.encode(year / 100)
}

// adopt takes the registers for the current time. Registers that hold no valid
// time are ignored, and the clock stays as it was.
func (k *Clock) adopt() {
	year := k.decode(regCentury)*100 + k.decode(regYear)
	month, day := k.decode(regMonth), k.decode(regDay)
	hour, minute, second := k.decodeHour(), k.decode(regMinutes), k.decode(regSeconds)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute > 59 || second > 59 || year > 9999 {
		return
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day {
		return // 31st of a shorter month
	}
	k.offset = t.Unix() - k.now().Unix()
}

func (k *Clock) encode(v int) byte {
	if k.ram[regB]&bBinary != 0 {
		return byte(v)
	}
	return byte(v/10<<4 | v%10)
}

func (k *Clock) decode(reg int) int {
	b := k.ram[reg]
	if k.ram[regB]&bBinary != 0 {
		return int(b)
	}
	return int(b>>4)*10 + int(b&0xf)
}

// encodeHour uses 1..12 with a PM bit in 12-hour mode.
func (k *Clock) encodeHour(h int) byte {
	if k.ram[regB]&b24Hour != 0 {
		return k.encode(h)
	}
	pm := byte(0)
	if h >= 12 {
		pm = pmBit
	}
	return k.encode((h+11)%12+1) | pm
}

// decodeHour gives -1 for what is no hour.
func (k *Clock) decodeHour() int {
	if k.ram[regB]&b24Hour != 0 {
		return k.decode(regHours)
	}
	raw := k.ram[regHours]
	k.ram[regHours] &^= pmBit
	h := k.decode(regHours)
	k.ram[regHours] = raw
	if h < 1 || h > 12 {
		return -1
	}
	h %= 12
	if raw&pmBit != 0 {
		h += 12
	}
	return h
}
