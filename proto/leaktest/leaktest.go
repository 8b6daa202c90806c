// Package leaktest has the tests of a package fail when they leave goroutines behind.
package leaktest

import (
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end once the tests are over: esbuild keeps one for a quarter of a second after
// each build, and a busy machine may be late with all of them.
const patience = 30 * time.Second

// VerifyTestMain runs the tests of a package from its TestMain and exits: with an error, too, if goroutines are left that
// don't end.
func VerifyTestMain(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

// patient are the tests of a package and the end of their goroutines.
type patient struct{ tests goleak.TestingM }

// Run implements goleak.TestingM.
func (p patient) Run() int {
	code := p.tests.Run()
	for until := time.Now().Add(patience); code == 0 && goleak.Find() != nil && time.Now().Before(until); {
		continue // Find waits a while each time
	}
	return code
}
