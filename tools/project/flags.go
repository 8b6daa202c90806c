package project

import (
	"slices"
	"strings"

	"github.com/tandem-do/tandem/runtime/bundle"
)

// compatibilityFlag is a flag that workerd knows.
type compatibilityFlag struct {
	// on switches it on, off switches it off; off may be empty.
	on, off string
	// since is the compatibility date from which it is on, or empty.
	since string
	// experimental flags are refused by Cloudflare.
	experimental bool
}

// compatibilityFlags returns all of them. Facts of workerd: io/compatibility-date.capnp of August 2026; where one is
// implied by others from some date on, since is empty.
func compatibilityFlags() []compatibilityFlag {
	var list []compatibilityFlag
	for line := range strings.Lines(flagTable) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		at := func(i int) string { return strings.TrimPrefix(f[i], "-") }
		list = append(list, compatibilityFlag{on: f[0], off: at(1), since: at(2), experimental: f[3] == "experimental"})
	}
	return list
}

// flag takes a compatibility flag.
func (d *decoder) flag(m *bundle.Manifest, v *value) {
	var names []string
	for _, f := range compatibilityFlags() {
		names = append(names, f.on)
		if f.off != "" {
			names = append(names, f.off)
		}
		if f.on != v.text && f.off != v.text {
			continue
		}
		other := f.on
		if v.text == f.on {
			other = f.off
		}
		switch {
		case slices.Contains(m.CompatibilityFlags, other):
			d.fail("compatibility_flags[]", v, "the flags %q and %q exclude each other", other, v.text)
		case strings.HasPrefix(v.text, "python_"):
			d.fail("compatibility_flags[]", v, "%q: Python Workers are not supported", v.text)
		case f.experimental:
			d.warn("compatibility_flags[]", v, "%q is experimental and has no effect here", v.text)
		}
		if !slices.Contains(m.CompatibilityFlags, v.text) {
			m.CompatibilityFlags = append(m.CompatibilityFlags, v.text)
		}
		return
	}
	d.fail("compatibility_flags[]", v, "there is no compatibility flag %q%s", v.text, suggestion(v.text, names))
}

// flagTable has a flag a line: on, off, date, and whether it is experimental; a hyphen is nothing.
const flagTable = `
formdata_parser_supports_files formdata_parser_converts_files_to_strings 2021-11-03 stable
fetch_refuses_unknown_protocols fetch_treats_unknown_protocols_as_http 2021-11-10 stable
html_rewriter_treats_esi_include_as_void_tag - - stable
durable_object_fetch_requires_full_url durable_object_fetch_allows_relative_url 2021-11-10 stable
streams_byob_reader_detaches_buffer streams_byob_reader_does_not_detach_buffer 2021-11-10 stable
streams_enable_constructors streams_disable_constructors 2022-11-30 stable
workers_api_getters_setters_on_prototype workers_api_getters_setters_on_instance 2022-01-31 stable
minimal_subrequests no_minimal_subrequests 2022-04-05 stable
no_cots_on_external_fetch cots_on_external_fetch 2022-03-08 stable
url_standard url_original 2022-10-31 stable
global_navigator no_global_navigator 2022-03-21 stable
capture_async_api_throws do_not_capture_async_api_throws 2022-10-31 stable
r2_public_beta_bindings r2_internal_beta_bindings - stable
durable_object_alarms - - stable
dont_substitute_null_on_type_error substitute_null_on_type_error 2022-06-01 stable
transformstream_enable_standard_constructor transformstream_disable_standard_constructor 2022-11-30 stable
r2_list_honor_include - 2022-08-04 stable
export_commonjs_default export_commonjs_namespace 2022-10-31 stable
durable_object_rename - - experimental
web_socket_compression no_web_socket_compression 2023-08-15 stable
nodejs_compat no_nodejs_compat 2026-08-04 stable
tcp_sockets_support - - stable
response_redirect_url_standard response_redirect_url_original 2023-03-14 stable
experimental - - experimental
durable_object_get_existing - - experimental
http_headers_getsetcookie no_http_headers_getsetcookie 2023-03-01 stable
dynamic_dispatch_tunnel_exceptions dynamic_dispatch_treat_exceptions_as_500 2023-03-01 stable
service_binding_extra_handlers - - experimental
no_cf_botmanagement_default cf_botmanagement_default 2023-08-01 stable
urlsearchparams_delete_has_value_arg no_urlsearchparams_delete_has_value_arg 2023-07-01 stable
strict_compression_checks no_strict_compression_checks 2023-08-01 stable
brotli_content_encoding no_brotli_content_encoding 2024-04-29 stable
strict_crypto_checks no_strict_crypto_checks 2023-08-01 stable
rtti_api - - experimental
webgpu - - experimental
crypto_preserve_public_exponent no_crypto_preserve_public_exponent 2023-12-01 stable
vectorize_query_metadata_optional vectorize_query_original 2023-11-08 stable
unsafe_module - - experimental
js_rpc - - experimental
no_global_importscripts global_importscripts 2024-03-04 stable
nodejs_als no_nodejs_als - stable
queues_json_messages no_queues_json_messages 2024-03-18 stable
python_workers - - stable
fetcher_no_get_put_delete fetcher_has_get_put_delete 2024-03-26 stable
unwrap_custom_thenables no_unwrap_custom_thenables 2024-04-01 stable
rpc no_rpc 2024-04-03 stable
internal_stream_byob_return_view internal_stream_byob_return_undefined 2024-05-13 stable
blob_standard_mime_type blob_legacy_mime_type 2024-06-03 stable
fetch_standard_url fetch_legacy_url 2024-06-03 stable
nodejs_compat_v2 no_nodejs_compat_v2 2026-08-04 stable
global_fetch_strictly_public global_fetch_private_origin - stable
new_module_registry legacy_module_registry - stable
cache_option_enabled cache_option_disabled 2024-11-11 stable
kv_direct_binding - - experimental
allow_custom_ports ignore_custom_ports 2024-09-02 stable
increase_websocket_message_size - - experimental
internal_writable_stream_abort_clears_queue internal_writable_stream_abort_does_not_clear_queue 2024-09-02 stable
python_workers_development - - experimental
nodejs_zlib no_nodejs_zlib - stable
replica_routing - - experimental
enable_d1_with_sessions_api - - experimental
handle_cross_request_promise_resolution no_handle_cross_request_promise_resolution 2024-10-14 stable
set_tostring_tag do_not_set_tostring_tag 2024-09-26 stable
upper_case_all_http_methods no_upper_case_all_http_methods 2024-10-14 stable
python_external_packages - - stable
disable_top_level_await_in_require enable_top_level_await_in_require 2024-12-02 stable
fixup-transform-stream-backpressure original-transform-stream-backpressure 2024-12-16 stable
tail_worker_user_spans - - experimental
cache_no_cache_enabled cache_no_cache_disabled - stable
python_workers_20250116 no_python_workers_20250116 - stable
request_cf_overrides_cache_rules no_request_cf_overrides_cache_rules 2025-04-02 stable
memory_cache_delete - - experimental
queue_consumer_no_wait_for_wait_until queue_consumer_wait_for_wait_until - stable
nodejs_compat_populate_process_env nodejs_compat_do_not_populate_process_env - stable
cache_api_request_cf_overrides_cache_rules no_cache_api_request_cf_overrides_cache_rules 2025-05-19 stable
disallow_importable_env allow_importable_env - stable
assets_navigation_prefers_asset_serving assets_navigation_has_no_effect 2025-04-01 stable
cache_api_compat_flags no_cache_api_compat_flags 2025-04-19 stable
python_workers_durable_objects - - experimental
streaming_tail_worker - - experimental
urlpattern_standard urlpattern_original 2025-05-01 stable
enable_weak_ref disable_weak_ref 2025-05-05 stable
request_signal_passthrough no_request_signal_passthrough - stable
enable_navigator_language disable_navigator_language 2025-05-19 stable
enable_web_file_system - - experimental
enable_abortsignal_rpc - - experimental
allow_eval_during_startup disallow_eval_during_startup 2025-06-01 stable
enable_request_signal disable_request_signal - stable
connect_pass_through - - experimental
bind_asynclocalstorage_snapshot_to_request do_not_bind_asynclocalstorage_snapshot_to-request 2025-06-16 stable
throw_on_unrecognized_import_assertion ignore_unrecognized_import_assertion 2025-06-16 stable
python_workflows disable_python_workflows - stable
unsupported_process_actual_platform - - experimental
enable_nodejs_process_v2 disable_nodejs_process_v2 - stable
set_event_target_this no_set_event_target_this 2025-08-01 stable
set_forwardable_email_full_headers set_forwardable_email_single_headers 2025-08-01 stable
enable_nodejs_http_modules disable_nodejs_http_modules - stable
pedantic_wpt non_pedantic_wpt - stable
expose_global_message_channel no_expose_global_message_channel 2025-08-15 stable
enable_nodejs_http_server_modules disable_nodejs_http_server_modules - stable
python_no_global_handlers disable_python_no_global_handlers 2025-08-14 stable
enable_nodejs_fs_module disable_nodejs_fs_module - stable
enable_nodejs_os_module disable_nodejs_os_module - stable
python_workers_force_new_vendor_path - 2025-08-11 stable
remove_nodejs_compat_eol add_nodejs_compat_eol - stable
enable_validate_workflow_entrypoint disable_validate_workflow_entrypoint 2025-09-20 stable
python_dedicated_snapshot disable_python_dedicated_snapshot - stable
typescript_strip_types - - experimental
enable_nodejs_http2_module disable_nodejs_http2_module - stable
allow_insecure_inefficient_logged_eval - - experimental
strip_authorization_on_cross_origin_redirect retain_authorization_on_cross_origin_redirect 2025-09-01 stable
enhanced_error_serialization legacy_error_serialization 2026-04-21 stable
enable_email_sending_queuing disable_email_sending_queuing - stable
remove_nodejs_compat_eol_v22 add_nodejs_compat_eol_v22 - stable
remove_nodejs_compat_eol_v23 add_nodejs_compat_eol_v23 - stable
remove_nodejs_compat_eol_v24 add_nodejs_compat_eol_v24 - stable
enable_nodejs_console_module disable_nodejs_console_module - stable
enable_nodejs_vm_module disable_nodejs_vm_module - stable
enable_nodejs_perf_hooks_module disable_nodejs_perf_hooks_module - stable
enable_global_performance_classes disable_global_performance_classes - stable
enable_nodejs_domain_module disable_nodejs_domain_module - stable
enable_nodejs_v8_module disable_nodejs_v8_module - stable
enable_nodejs_tty_module disable_nodejs_tty_module - stable
enable_nodejs_punycode_module disable_nodejs_punycode_module - stable
enable_nodejs_cluster_module disable_nodejs_cluster_module - stable
enable_nodejs_child_process_module disable_nodejs_child_process_module - stable
enable_nodejs_worker_threads_module disable_nodejs_worker_threads_module - stable
enable_nodejs_stream_wrap_module disable_nodejs_stream_wrap_module - stable
enable_nodejs_wasi_module disable_nodejs_wasi_module - stable
enable_nodejs_dgram_module disable_nodejs_dgram_module - stable
enable_nodejs_inspector_module disable_nodejs_inspector_module - stable
enable_nodejs_trace_events_module disable_nodejs_trace_events_module - stable
enable_nodejs_readline_module disable_nodejs_readline_module - stable
enable_nodejs_repl_module disable_nodejs_repl_module - stable
enable_nodejs_sqlite_module disable_nodejs_sqlite_module - stable
enable_ctx_exports disable_ctx_exports 2025-11-17 stable
enable_python_external_sdk disable_python_external_sdk 2026-04-21 stable
enable_fast_jsg_struct disable_fast_jsg_struct 2025-12-03 stable
cache_reload_enabled cache_reload_disabled - experimental
enable_streams_nodejs_v24_compat disable_streams_nodejs_v24_compat - stable
immutable_api_prototypes mutable_api_prototypes - stable
fetch_iterable_type_support no_fetch_iterable_type_support 2026-02-19 stable
env_module_nullable_support no_env_module_nullable_support - stable
precise_timers no_precise_timers - experimental
fetch_iterable_type_support_override_adjustment no_fetch_iterable_type_support_override_adjustment - stable
strip_bom_in_read_all_text do_not_strip_bom_in_read_all_text 2026-01-13 stable
allow_irrevocable_stub_storage - - stable
rpc_params_dup_stubs rpc_params_transfer_stubs 2026-01-20 stable
enable_nodejs_global_timers no_nodejs_global_timers - stable
streams_no_default_auto_allocate_chunk_size streams_auto_allocate_chunk_size_default - experimental
python_workflows_implicit_dependencies no_python_workflows_implicit_dependencies - stable
require_returns_default_export require_returns_namespace 2026-01-22 stable
python_request_headers_preserve_commas disable_python_request_headers_preserve_commas 2026-02-17 stable
queue_expose_error_codes no_queue_expose_error_codes 2026-03-12 stable
text_decoder_replace_surrogates disable_text_decoder_replace_surrogates 2026-02-24 stable
containers_pid_namespace no_containers_pid_namespace 2026-04-01 stable
delete_all_deletes_alarm delete_all_preserves_alarm 2026-02-24 stable
unhandled_rejection_after_microtask_checkpoint no_unhandled_rejection_after_microtask_checkpoint 2026-03-03 stable
text_decoder_cjk_decoder disable_text_decoder_cjk_decoder 2026-03-03 stable
websocket_close_reason_byte_limit no_websocket_close_reason_byte_limit 2026-03-03 stable
enable_version_api - - experimental
websocket_standard_binary_type no_websocket_standard_binary_type 2026-03-17 stable
writable_stream_spec_compliant_writer no_writable_stream_spec_compliant_writer 2026-03-24 stable
encoder_stream_spec_compliant_backpressure no_encoder_stream_spec_compliant_backpressure 2026-03-24 stable
spec_compliant_property_attributes no_spec_compliant_property_attributes - experimental
workflows_preserve_non_retryable_error_message workflows_replace_non_retryable_error_message 2026-05-14 stable
web_socket_auto_reply_to_close web_socket_manual_reply_to_close 2026-04-07 stable
enable_ctx_version_metadata - - experimental
no_resizable_array_buffer_in_blob resizable_array_buffer_in_blob - stable
diagnostics_channel_has_subscribers_getter no_diagnostics_channel_has_subscribers_getter 2026-05-19 stable
workflows_step_rollback - - experimental
python_process_pth_files disable_python_process_pth_files 2026-05-26 stable
throw_on_not_implemented_tls_options no_throw_on_not_implemented_tls_options 2026-06-16 stable
auto_grpc_convert - - experimental
python_workers_20260610 no_python_workers_20260610 - stable
enable_nodejs_inspector_local_dev - - experimental
d1_binding_jsrpc - - experimental
workflows_bindings_rpc - - experimental
typescript_implemented_streams - - experimental
expose_draining_reader - - experimental
workflows_enable_fast_engine_creation workflows_disable_fast_engine_creation 2026-08-11 stable
wasm_memory_discard - - experimental
python_workers_20260817 no_python_workers_20260817 - experimental
`
