// Package build turns a project's source into the one script that a bundle holds: TypeScript, JSX, npm packages and
// all, bundled by esbuild as wrangler would, and lowered to what the engine can run.
//
//	Options ──New──► Builder ──Build──► Result ──Bundle──► bundle.Bundle
//
// What the host provides (cloudflare:workers, node:buffer and so on) stays a require at run time. A module of that
// kind that the host does not have fails the build and names who imports it, except where the import may fail: in a
// try block, or a promise that is caught.
//
// The script has the shape that package isolate takes. Its source map is right for it: nothing moves after esbuild.
//
// A Builder keeps what it has parsed, so that the next Build reads only what changed. Its methods may be called from
// any goroutine; builds run one at a time. It executes nothing of the project; Command does, and only when it is
// called.
package build
