// Package wranglerstate reads the Durable Object state that `wrangler dev` (miniflare) and `workerd serve` leave on disk,
// and imports it into an object store of tandem.
//
// Both write one SQLite database for each object, in a folder named after the namespace's unique key:
//
//	.wrangler/state/v3/do/<worker>-<Class>/<64 hex digits>.sqlite     wrangler dev; beside it -wal and -shm
//	<localDisk>/<unique key>/<64 hex digits>.sqlite                   workerd serve
//	                        /metadata.sqlite                          alarms of the namespace's objects
//
// Within an object's database `_cf_KV` holds keys and values, `_cf_METADATA` the alarm, `__miniflare_do_name` the name;
// every other table is the object's own SQL.
//
// Miniflare keeps KV apart: the entries of a namespace in a database as if of an object, in the table `_mf_entries`, and
// each value in a file.
//
//	.wrangler/state/v3/kv/miniflare-KVNamespaceObject/<64 hex digits>.sqlite   of the object named like the namespace
//	                     /<namespace's ID>/blobs/<name>
//
// They become objects of the platform's class KV, which serves them here.
//
// Guarantees:
//   - the source is opened for reading only, by a file layer of its own that cannot write, lock or create; what lies in a
//     write-ahead log counts as SQLite counts it;
//   - values are copied as they are, after v8value has decoded each;
//   - an object comes over whole or not at all, and what does not come over is in the Report;
//   - an import that was cut short is finished by running it again: what has come over already is found to be the same.
//
// An object of more than 32 MiB is the exception to "whole or not at all" while the process is killed: a part of it may be
// in the store until the next import removes it. SQL tables, facets, and the state of R2, D1, queues and caches are
// reported and not imported.
//
// Nothing else may use source or target meanwhile: the target store is locked, and a source file that changes while it is
// read is skipped with that reason. Import runs on the caller's goroutine and starts none.
package wranglerstate
