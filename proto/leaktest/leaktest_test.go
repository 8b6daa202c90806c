package leaktest

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type tests func() int

func (t tests) Run() int { return t() }

// Goroutines that end late are waited for, and nothing is where the tests have failed.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		leaves := func(code int) tests {
			return func() int {
				go func() {
					time.Sleep(5 * time.Second)
					ended.Store(true)
				}()
				return code
			}
		}
		if code := (patient{leaves(1)}).Run(); code != 1 || ended.Load() {
			t.Errorf("tests that fail: code %d, waited %v", code, ended.Load())
		}
		time.Sleep(time.Minute)
		ended.Store(false)
		if code := (patient{leaves(0)}).Run(); code != 0 || !ended.Load() {
			t.Errorf("tests that pass: code %d, waited %v", code, ended.Load())
		}
		synctest.Wait()
	})
}
