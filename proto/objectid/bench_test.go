package objectid_test

import (
	"testing"

	"github.com/tandem-do/tandem/proto/objectid"
)

func BenchmarkFromName(b *testing.B) {
	n := objectid.NewNamespace("chat-Room")
	b.ReportAllocs()
	for b.Loop() {
		n.FromName("lobby")
	}
}
