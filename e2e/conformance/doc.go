// Package conformance holds what this module promises to do like workerd.
//
// rows.txt lists the rows of behaviour; a test somewhere in the tree names each row that it holds, and known.txt lists
// the others with the reason. A test here holds the three against each other, and fails both ways.
package conformance
