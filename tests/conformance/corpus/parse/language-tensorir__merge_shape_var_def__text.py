@T.prim_func(s_tir=True)
def main(A: T.handle, B: T.handle):
    m, n = T.int32(), T.int32()
    A_1 = T.match_buffer(A, (m, n), strides=("A_s0", "A_s1"), buffer_type="auto")
    B_1 = T.match_buffer(B, (m, n), strides=("B_s0", "B_s1"), buffer_type="auto")
    for i_outer, j_outer, i_inner in T.grid((m + 4) // 5, (n + 4) // 5, 5):
        if T.likely(i_outer * 5 + i_inner < m):
            for j_inner in range(5):
                if T.likely(j_outer * 5 + j_inner < n):
                    cse_var_2: T.let[T.int32] = j_outer * 5 + j_inner
                    cse_var_1: T.let[T.int32] = i_outer * 5 + i_inner
                    B_2 = T.decl_buffer((B_1.strides[0] * m,), data=B_1.data, strides=("B_s",), buffer_type="auto")
                    A_2 = T.decl_buffer((A_1.strides[0] * m,), data=A_1.data, strides=("A_s",), buffer_type="auto")
                    B_2[cse_var_1 * B_1.strides[0] + cse_var_2 * B_1.strides[1]] = A_2[cse_var_1 * A_1.strides[0] + cse_var_2 * A_1.strides[1]]
