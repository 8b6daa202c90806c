// Package schema checks arguments against JSON Schemas that strangers wrote.
//
// A schema is rewritten before it is compiled: references within it are put in place, what only describes is left out.
// A reference that leads back to where it stands accepts anything, as does one that leads out of the schema, a pattern
// that Go's regular expressions cannot say, and what is nested too deeply. So a check always ends, in a time that the
// sizes of schema and arguments bound; it may accept what the source then refuses, and never refuses what the schema
// accepts because of what was left out.
//
// All of it may be used from any goroutine.
package schema
