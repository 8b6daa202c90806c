package telemetry

// Span names. Those of workerd where it has one; the contract's for the MCP application.
const (
	SpanHTTPServer          = "http.server" // followed by a space and the method
	SpanMCPRequest          = "mcp.request"
	SpanGetOrganization     = "user_store.getOrganization"
	SpanResolveSessionMeta  = "McpSessionDOSqlite.resolveSessionMeta"
	SpanResolveOrganization = "mcp.session.resolve_organization"
	SpanSessionLoadMeta     = "mcp.session.load_meta"
	SpanSessionSaveMeta     = "mcp.session.save_meta"
	SpanSessionIdleDispose  = "mcp.session.idle_runtime_dispose"
	SpanExecute             = "mcp.execute"
	SpanExecuteResume       = "mcp.execute.resume"
	SpanCodeExec            = "executor.code.exec"
	SpanToolExecute         = "executor.tool.execute"
	SpanSandboxExecute      = "sandbox.execute"
	SpanObjectFetch         = "durable_object_fetch"
	SpanObjectCall          = "durable_object_call"
	SpanObjectAlarm         = "durable_object_alarm"
	SpanInputGateLockWait   = "input_gate_lock_wait"
	SpanOutputGateLockWait  = "output_gate_lock_wait"
	SpanPlacementLocate     = "placement_locate"
	SpanWorkerFind          = "worker_find"
	SpanServiceFetch        = "service_fetch"
	SpanServiceCall         = "service_call"
	SpanKVGet               = "kv_get"
	SpanKVGetWithMetadata   = "kv_getWithMetadata"
	SpanKVPut               = "kv_put"
	SpanKVList              = "kv_list"
	SpanKVDelete            = "kv_delete"
)

// Span names of an object's storage operations, with the operation's name in Cloudflare's API. Like workerd.
const (
	spanStorageGet         = "durable_object_storage_get"
	spanStoragePut         = "durable_object_storage_put"
	spanStorageDelete      = "durable_object_storage_delete"
	spanStorageList        = "durable_object_storage_list"
	spanStorageDeleteAll   = "durable_object_storage_deleteAll"
	spanStorageSync        = "durable_object_storage_sync"
	spanStorageTransaction = "durable_object_storage_transaction"
	spanStorageGetAlarm    = "durable_object_storage_getAlarm"
	spanStorageSetAlarm    = "durable_object_storage_setAlarm"
	spanStorageDeleteAlarm = "durable_object_storage_deleteAlarm"
)

// StorageSpan returns the name of the span of an operation of an object's storage, such as "get", or "" for an
// operation that has none. It puts no string together, so that an unsampled operation costs nothing.
func StorageSpan(operation string) string {
	switch operation {
	case "get":
		return spanStorageGet
	case "put":
		return spanStoragePut
	case "delete":
		return spanStorageDelete
	case "list":
		return spanStorageList
	case "deleteAll":
		return spanStorageDeleteAll
	case "sync":
		return spanStorageSync
	case "transaction":
		return spanStorageTransaction
	case "getAlarm":
		return spanStorageGetAlarm
	case "setAlarm":
		return spanStorageSetAlarm
	case "deleteAlarm":
		return spanStorageDeleteAlarm
	}
	return ""
}

// Attribute keys.
const (
	AttrHTTPMethod        = "http.request.method"
	AttrHTTPStatus        = "http.response.status_code"
	AttrHTTPRoute         = "http.route"
	AttrOutcome           = "outcome"
	AttrReason            = "reason"
	AttrNamespace         = "durable_object.namespace"
	AttrObjectID          = "durable_object.id"
	AttrRPCMethodName     = "durable_object.method"
	AttrEpoch             = "durable_object.epoch"
	AttrWorker            = "worker.name"
	AttrEntrypoint        = "worker.entrypoint"
	AttrServiceMethod     = "worker.method"
	AttrErrorCode         = "error.code"
	AttrMCPMethod         = "mcp.request.method"
	AttrMCPSessionID      = "mcp.request.session_id"
	AttrMCPSessionPresent = "mcp.request.session_id_present"
	AttrMCPHasBearer      = "mcp.auth.has_bearer"
	AttrMCPVerified       = "mcp.auth.verified"
	AttrMCPAuthOutcome    = "mcp.auth.outcome"
	AttrMCPAccountID      = "mcp.auth.account_id"
	AttrMCPOrganizationID = "mcp.auth.organization_id"
	AttrMCPRPCMethod      = "mcp.rpc.method"
	AttrMCPRPCID          = "mcp.rpc.id"
	AttrMCPClientName     = "mcp.client.name"
	AttrMCPClientVersion  = "mcp.client.version"
	AttrMCPToolName       = "mcp.tool.name"
	AttrMetaSource        = "mcp.session.meta_source"
	AttrIdleMS            = "mcp.session.idle_ms"
	AttrPausedCount       = "mcp.session.paused_count"
	AttrDisposeReason     = "mcp.session.dispose_reason"
	AttrExecutionID       = "mcp.execution.id"
	AttrUsage             = "mcp.execute.usage"
	AttrResumeAction      = "mcp.execute.action"
	AttrResumeReplayed    = "mcp.execute.replayed"
	AttrResumeJoined      = "mcp.execute.joined_inflight"
	AttrReplayedCalls     = "mcp.execute.replayed_calls"
	AttrDBSystem          = "db.system.name"
	AttrDBOperation       = "db.operation.name"
	AttrBindingName       = "cloudflare.binding.name"
	AttrBindingType       = "cloudflare.binding.type"
	AttrKVKeys            = "cloudflare.kv.query.keys"
	AttrKVKeysCount       = "cloudflare.kv.query.keys.count"
	AttrKVPrefix          = "cloudflare.kv.query.prefix"
	AttrKVPayloadSize     = "cloudflare.kv.query.payload.size"
	AttrKVReturnedRows    = "cloudflare.kv.response.returned_rows"
	AttrKVResponseSize    = "cloudflare.kv.response.size"
	AttrKVListComplete    = "cloudflare.kv.response.list_complete"
)
