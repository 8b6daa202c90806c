// Package projects runs Workers projects by `tandem dev DIR`, as people do, and looks at them from outside. The projects
// are in testdata; the npm packages that some stand on are in node, and tools/e2e installs them.
package projects
