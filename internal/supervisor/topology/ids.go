// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// makeID and numberOf are each other's inverse: one letter, then the number without leading zeros.
func makeID(letter byte, n uint64) string { return string(letter) + strconv.FormatUint(n, 10) }

func numberOf(letter byte, id string) (uint64, error) {
	if len(id) < 2 || id[0] != letter {
		return 0, fmt.Errorf("parse id %q: want %c and a number", id, letter)
	}
	n, err := strconv.ParseUint(id[1:], 10, 64)
	if err != nil || n > CounterMax || makeID(letter, n) != id {
		return 0, fmt.Errorf("parse id %q: want %c and a number", id, letter)
	}
	return n, nil
}

// compareIDs orders ids of one letter by their numbers: without leading zeros the longer one is larger.
func compareIDs(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// take gives out the number in counter as an id.
func take(letter byte, counter *uint64) (string, error) {
	if *counter >= CounterMax {
		return "", fmt.Errorf("give out an id %c%d: %w", letter, *counter, ErrOverflow)
	}
	*counter++
	return makeID(letter, *counter-1), nil
}

// grow counts up a number whose value is the last one given out.
func grow(counter *uint64) error {
	if *counter >= CounterMax {
		return fmt.Errorf("count past %d: %w", *counter, ErrOverflow)
	}
	*counter++
	return nil
}

// isUUID reports whether s is a UUID in lower case: the form in which workers are named on disk.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash != (s[i] == '-'):
			return false
		case !dash && (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f'):
			return false
		}
	}
	return true
}
