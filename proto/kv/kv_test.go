package kv

import (
	"fmt"
	"strings"
	"testing"
)

// TestShard pins where keys are: it is part of what is on disk.
func TestShard(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"": 5, "a": 12, "counter": 3, "é": 1, "p/1": 3} {
		if got := Shard(key); got != want {
			t.Errorf("%q is in shard %d, want %d", key, got, want)
		}
	}
	if got := ObjectName("n", 15); got != "n/15" {
		t.Error(got)
	}
	var counts [Shards]int
	for i := range 16_000 {
		counts[Shard(fmt.Sprintf("user:%d", i))]++
	}
	for shard, n := range counts {
		if n < 800 || n > 1200 {
			t.Errorf("shard %d has %d of 16,000 keys", shard, n)
		}
	}
}

func TestExpirationOf(t *testing.T) {
	t.Parallel()
	at := func(n int64) *int64 { return &n }
	const never = "400 Invalid expiration of %d. Please specify integer greater than the current number of seconds since the " +
		"UNIX epoch."
	for _, tc := range []struct {
		name    string
		put     Put
		want    int64
		refused string
	}{
		{"never", Put{}, 0, ""},
		{"ttl", Put{TTL: at(60)}, 1060, ""},
		{"ttl before expiration", Put{TTL: at(60), Expiration: at(1)}, 1060, ""},
		{"ttl short", Put{TTL: at(59)}, 0, "400 Invalid expiration_ttl of 59. Expiration TTL must be at least 60."},
		{"ttl zero", Put{TTL: at(0)}, 0, "400 Invalid expiration_ttl of 0. Please specify integer greater than 0."},
		{"ttl huge", Put{TTL: at(1<<63 - 1)}, maxExpiration, ""},
		{"expiration", Put{Expiration: at(1060)}, 1060, ""},
		{"expiration soon", Put{Expiration: at(1059)}, 0,
			"400 Invalid expiration of 1059. Expiration times must be at least 60 seconds in the future."},
		{"expiration now", Put{Expiration: at(1000)}, 0, fmt.Sprintf(never, 1000)},
		{"expiration of long ago", Put{Expiration: at(-1 << 63)}, 0, fmt.Sprintf(never, int64(-1<<63))},
		{"expiration huge", Put{Expiration: at(1<<63 - 1)}, maxExpiration, ""},
	} {
		got, fault := tc.put.ExpirationOf(1000)
		refused := ""
		if fault != nil {
			refused = fault.Error()
		}
		if got != tc.want || refused != tc.refused {
			t.Errorf("%s: got %d %q, want %d %q", tc.name, got, refused, tc.want, tc.refused)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	for _, f := range []*Fault{
		CheckKey(strings.Repeat("x", 512)), CheckLength(""), CheckValue(MaxValueBytes), CheckMetadata(""),
		CheckMetadata(`"` + strings.Repeat("x", 1022) + `"`), CheckCacheTTL(30), CheckListLimit(1000), CheckListLimit(1),
		CheckBulk(1), CheckBulk(100),
	} {
		if f != nil {
			t.Error(f)
		}
	}
}
