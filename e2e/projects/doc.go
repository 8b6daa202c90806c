// Package projects runs Workers projects by `tandem dev DIR`, as people do, and looks at them from outside. The projects
// are in testdata.
package projects
