package project

// unavailableKeys are of services that a Worker may have a binding of and do without.
func unavailableKeys() []Key {
	var list []Key
	add := func(path, binding, note string) {
		list = append(list, Key{Path: path, Status: Unavailable, Scope: Own, Type: Any, Binding: binding, Note: note})
	}
	const later, cloud = "not yet there", "there is no such service outside Cloudflare"
	list = append(list, Key{Path: "assets", Status: Unavailable, Scope: Inherited, Type: Object, Binding: "binding",
		Note: "static assets are not yet served: every request reaches the script"})
	add("d1_databases", "[].binding", "D1 databases are "+later)
	add("r2_buckets", "[].binding", "R2 buckets are "+later)
	add("queues", "producers[].binding", "queues are "+later)
	add("workflows", "[].binding", "Workflows are "+later)
	add("analytics_engine_datasets", "[].binding", "Analytics Engine is "+later)
	add("ratelimits", "[].name", "rate limits are "+later)
	add("secrets_store_secrets", "[].binding", "Secrets Store is "+later+"; use a secret of the Worker")
	add("hyperdrive", "[].binding", "Hyperdrive is "+later)
	add("send_email", "[].name", "sending mail is "+later)
	add("tail_consumers", "", "Tail Workers are "+later+": no events are sent")
	add("streaming_tail_consumers", "", "Tail Workers are "+later+": no events are sent")
	add("worker_loaders", "[].binding", "Worker Loaders are "+later)
	add("browser", "binding", "browsers are "+later)
	add("images", "binding", "Images is "+later)
	add("pipelines", "[].binding", cloud)
	add("ai", "binding", cloud)
	add("ai_search", "[].binding", cloud)
	add("ai_search_namespaces", "[].binding", cloud)
	add("agent_memory", "[].binding", cloud)
	add("websearch", "binding", cloud)
	add("vectorize", "[].binding", cloud)
	add("stream", "binding", cloud)
	add("media", "binding", cloud)
	add("mtls_certificates", "[].binding", cloud)
	add("dispatch_namespaces", "[].binding", cloud)
	add("vpc_services", "[].binding", cloud)
	add("vpc_networks", "[].binding", cloud)
	add("artifacts", "[].binding", cloud)
	add("flagship", "[].binding", cloud)
	add("unsafe", "bindings[].name", "unsafe bindings are of Cloudflare's own systems")
	add("unsafe_hello_world", "[].binding", "unsafe bindings are of Cloudflare's own systems")
	return list
}

// ignoredKeys change nothing for a Worker on one's own machines.
func ignoredKeys() []Key {
	var list []Key
	add := func(scope Scope, path, note string) {
		list = append(list, Key{Path: path, Status: Ignored, Scope: scope, Type: Any, Note: note})
	}
	const deploy, address = "it is about deployments to Cloudflare", "it is about a Worker's addresses at Cloudflare"
	add(TopLevel, "$schema", "it is for editors")
	add(Inherited, "account_id", deploy)
	add(Inherited, "route", address)
	add(Inherited, "routes", address)
	add(Inherited, "workers_dev", address)
	add(Inherited, "preview_urls", address)
	add(Inherited, "previews", deploy)
	add(Inherited, "placement", deploy)
	add(Inherited, "compliance_region", deploy)
	add(Inherited, "first_party_worker", deploy)
	add(Inherited, "upload_source_maps", "source maps are always there")
	add(Inherited, "preserve_file_names", "text and data files become part of the one script")
	add(Inherited, "minify", "a bundle is not sent anywhere, and its traces stay readable")
	add(Inherited, "observability", "spans go to the collector that the process is told of")
	add(Inherited, "logpush", "logs go to the process's standard error")
	add(Inherited, "limits", "limits are options of the process")
	add(Inherited, "cache", "there is no cache in front of a Worker")
	add(Inherited, "access", "there is no Cloudflare Access in front of a Worker")
	add(Inherited, "python_modules", "there are no Python Workers")
	add(TopLevel, "addresses", "there is no mail routing")
	add(TopLevel, "send_metrics", "it is about wrangler itself")
	add(TopLevel, "dependencies_instrumentation", "it is about wrangler itself")
	add(TopLevel, "keep_vars", deploy)
	add(TopLevel, "topLevelName", "build tools write it")
	add(TopLevel, "definedEnvironments", "build tools write it")
	add(TopLevel, "targetEnvironment", "build tools write it")
	add(TopLevel, "configPath", "build tools write it")
	add(TopLevel, "userConfigPath", "build tools write it")
	return list
}

// refusedKeys are of what a Worker can't do without once it asks for it.
func refusedKeys() []Key {
	var list []Key
	add := func(scope Scope, path, note string) {
		list = append(list, Key{Path: path, Status: Refused, Scope: scope, Type: Any, Note: note})
	}
	add(Own, "containers", "there are no containers")
	add(Own, "cloudchamber", "there are no containers")
	add(Own, "connect", "handlers of raw TCP connections are not supported")
	add(Inherited, "logfwdr", "it is of Cloudflare's own systems")
	add(TopLevel, "pages_build_output_dir", "this is a Pages project, and only Workers run here")
	add(TopLevel, "site", "Workers Sites is deprecated by Cloudflare and not supported")
	add(TopLevel, "wasm_modules", "WebAssembly is not supported")
	add(TopLevel, "text_blobs", "it is deprecated by Cloudflare; import the file as a module")
	add(TopLevel, "data_blobs", "it is deprecated by Cloudflare; import the file as a module")
	add(TopLevel, "legacy_env", "wrangler has removed it; each environment is a Worker of its own")
	add(Inherited, "node_compat", "wrangler has removed it; use the compatibility flag nodejs_compat")
	add(TopLevel, "usage_model", "wrangler has removed it")
	add(TopLevel, "zone_id", "wrangler has removed it")
	add(TopLevel, "webpack_config", "wrangler has removed it; esbuild bundles the script")
	add(TopLevel, "type", "wrangler has removed it; esbuild bundles the script")
	add(TopLevel, "kv-namespaces", "wrangler has removed it; the key is kv_namespaces")
	return list
}
