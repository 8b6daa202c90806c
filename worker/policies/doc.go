// Package policies is the worker's HTTP interface to the rules on tool calls: /api/policies and /api/policies/{id}.
//
// It holds no rules. Each organization's are in one object, named by the organization's ID; this package
// reads the input and calls the object. Authentication, errors and the rest are package api's.
package policies
