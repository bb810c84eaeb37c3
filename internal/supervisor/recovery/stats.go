// SPDX-License-Identifier: Apache-2.0

package recovery

// Stats is what doctor says of a store. Counts are of the last look at the folder.
type Stats struct {
	LastAttempt    Millis // 0 for never, since this daemon began
	LastSuccess    Millis // of the last checkpoint known to be durable
	LastError      Code   // of the last attempt; "" for none
	LastPruneError Code
	Valid          int
	Invalid        int // corrupt, incompatible, unsafe or future-dated
	Unsafe         int // of these, what is no file of ours alone or cannot be read
	Expired        int
	UnsafeTemps    int   // temporary files that are left because others can reach them
	Bytes          int64 // of all files that could be looked at
}

// Stats returns them without looking at the folder again.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stats
}

func (s *Store) count(entries []Entry) {
	stats := &s.mu.stats
	stats.Valid, stats.Invalid, stats.Unsafe, stats.Expired, stats.Bytes = 0, 0, 0, 0, 0
	for _, e := range entries {
		stats.Bytes += e.Bytes
		switch e.Status {
		case StatusValid:
			stats.Valid++
		case StatusExpired:
			stats.Expired++
		case StatusUnsafe:
			stats.Unsafe++
			stats.Invalid++
		default:
			stats.Invalid++
		}
	}
}
