@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for tx in T.thread_binding(0, 16, thread="threadIdx.x"):
        for i in T.serial(0, 16, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1], "software_pipeline_async_stages": [0]}):
            with T.sblock("compute"):
                T.reads(A[tx, i])
                T.writes(C[tx, i])
                T.sblock_attr({"double_buffer_scope": 0, "auto_copy": True, "tir.manifest_shared_memory_local_stage": 1})
                B = T.sblock_alloc_buffer((16, 1), dtype="float32", scope="shared")
                with T.sblock(""):
                    T.reads(A[tx, i])
                    T.writes(B[tx, 0])
                    B[tx, 0] = A[tx, i] * T.float32(2)
                with T.sblock():
                    with T.attr(0, "async_commit_queue_scope", 0):
                        C[tx, i] = B[tx, 0] + T.float32(1)
                    with T.attr(0, "async_wait_queue_scope", 0):
                        with T.attr(0, "async_wait_inflight_count", 0):
                            C[tx, i] = B[tx, 0]
