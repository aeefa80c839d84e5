# Attention over pages of keys and values, decoding, with a softmax that is computed as it goes.
# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func
    def batch_decode_paged_kv_cpu(Q_handle: T.handle, pages_handle: T.handle, page_table_indptr_handle: T.handle, page_table_values_handle: T.handle, var_length_info: T.handle, output_handle: T.handle, lse_handle: T.handle):
        T.func_attr({"global_symbol": "batch_decode_paged_kv_cpu", "tir.is_scheduled": True})
        B = T.int32(is_size_var=True)
        Q = T.match_buffer(Q_handle, (B, 2, 4))
        max_num_pages = T.int32(is_size_var=True)
        pages = T.match_buffer(pages_handle, (max_num_pages, 2, 1, 4, 4))
        page_table_indptr = T.match_buffer(page_table_indptr_handle, (B + 1,), "int32", offset_factor=1)
        nnz_pages = T.int32(is_size_var=True)
        page_table_values = T.match_buffer(page_table_values_handle, (nnz_pages,), "int32", offset_factor=1)
        length_info = T.match_buffer(var_length_info, (B,), "int32", offset_factor=1)
        output = T.match_buffer(output_handle, (B, 2, 4))
        lse = T.match_buffer(lse_handle, (B, 2))
        # with T.block("root"):
        for b in range(B):
            with T.block("attn"):
                T.reads()
                T.writes()
                O_local = T.alloc_buffer((4,), scope="local")
                Q_local = T.alloc_buffer((4,), scope="local")
                S_local = T.alloc_buffer((1,), scope="local")
                m_val = T.alloc_buffer((1,), scope="local")
                new_m = T.alloc_buffer((1,), scope="local")
                d_val = T.alloc_buffer((1,), scope="local")
                factor = T.alloc_buffer((1,), scope="local")
                cur_page_indptr_begin: T.int32 = page_table_indptr[b]
                cur_page_indptr_end: T.int32 = page_table_indptr[b + 1]
                kv_chunk_len: T.int32 = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 4 + length_info[b], 0)
                for h_qo in range(2):
                    m_val[0] = T.float32(-50000)
                    d_val[0] = T.float32(1)
                    for d in range(4):
                        O_local[d] = T.float32(0)
                        Q_local[d] = Q[b, h_qo, d]
                    for row_idx in range(max_num_pages * 4):
                        if row_idx < kv_chunk_len:
                            page_no: T.int32 = page_table_values[cur_page_indptr_begin + row_idx // 4]
                            page_offset: T.int32 = row_idx % 4
                            S_local[0] = T.float32(0)
                            for d in range(4):
                                S_local[0] = S_local[0] + Q_local[d] * pages[page_no, 0, h_qo // 2, page_offset, d]
                            S_local[0] = S_local[0] * T.float32(0.7213475204444817)
                            new_m[0] = T.max(m_val[0], S_local[0])
                            d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0])
                            S_local[0] = T.exp2(S_local[0] - new_m[0])
                            d_val[0] = d_val[0] + S_local[0]
                            factor[0] = T.exp2(m_val[0] - new_m[0])
                            m_val[0] = new_m[0]
                            for d in T.vectorized(4):
                                O_local[d] = O_local[d] * factor[0]
                            for d in range(4):
                                O_local[d] = O_local[d] + S_local[0] * pages[page_no, 1, h_qo // 2, page_offset, d]
                    for d in range(4):
                        O_local[d] = O_local[d] / d_val[0]
                        output[b, h_qo, d] = O_local[d]
                    lse[b, h_qo] = m_val[0] + T.log2(d_val[0])

    @R.function
    def main(q: R.Tensor(("batch", 2, 4), dtype="float32"), pages: R.Tensor(("np", 2, 1, 4, 4), dtype="float32"), indptr: R.Tensor(("batch + 1",), dtype="int32"), values: R.Tensor(("nnz",), dtype="int32"), lengths: R.Tensor(("batch",), dtype="int32")) -> R.Tuple(R.Tensor(("batch", 2, 4), dtype="float32"), R.Tensor(("batch", 2), dtype="float32")):
        batch = T.int64()
        np = T.int64()
        nnz = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.batch_decode_paged_kv_cpu, (q, pages, indptr, values, lengths), out_sinfo=[R.Tensor((batch, 2, 4), dtype="float32"), R.Tensor((batch, 2), dtype="float32")])
            R.output(gv)
        return gv
