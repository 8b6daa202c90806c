package program

import (
	"os"
	"testing"
)

// TestUnchangedPages holds that the code of the executable is found, and that giving its pages back harms nothing.
func TestUnchangedPages(t *testing.T) {
	p, err := unchangedPages()
	if err != nil {
		t.Fatal(err)
	}
	var bytes uintptr
	for _, m := range p {
		bytes += m.length
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	if int64(bytes) < info.Size()/4 {
		t.Errorf("found %d bytes of %d", bytes, info.Size())
	}
	p.release()
	if i, err := newIsolate(); err != nil || i.rt == nil {
		t.Error(err)
	}
}
