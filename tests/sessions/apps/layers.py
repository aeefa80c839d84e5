# Layers as front ends write them. Weights are sines of what is given, so that a run needs no file.
@I.ir_module
class Module:
    @R.function
    def lstm(x: R.Tensor((2, 3), "float32"), wi: R.Tensor((16, 3), "float32"), wh: R.Tensor((16, 4), "float32")) -> R.Tuple(R.Tensor((2, 4), "float32"), R.Tensor((2, 4), "float32")):
        with R.dataflow():
            h = R.zeros(R.shape([2, 4]), "float32")
            c = R.ones_like(h)
            g = R.add(R.matmul(R.sin(x), R.permute_dims(R.sin(wi))), R.matmul(h, R.permute_dims(R.sin(wh))))
            s = R.split(g, 4, axis=1)
            c1 = R.add(R.multiply(R.sigmoid(s[1]), c), R.multiply(R.sigmoid(s[0]), R.tanh(s[2])))
            h1 = R.multiply(R.sigmoid(s[3]), R.tanh(c1))
            g1 = R.add(R.matmul(R.sin(x), R.permute_dims(R.sin(wi))), R.matmul(h1, R.permute_dims(R.sin(wh))))
            t = R.split(g1, 4, axis=1)
            c2 = R.add(R.multiply(R.sigmoid(t[1]), c1), R.multiply(R.sigmoid(t[0]), R.tanh(t[2])))
            h2 = R.multiply(R.sigmoid(t[3]), R.tanh(c2))
            R.output(h2, c2)
        return (h2, c2)

    # One step of a decoder: two query heads share a head of keys and values, which the step appends to.
    @R.function
    def decode(x: R.Tensor((1, 1, 8), "float32"), past: R.Tensor((1, "n", 2, 4), "float32"), w: R.Tensor((8, 32), "float32"), wo: R.Tensor((16, 8), "float32"), scale: R.Tensor((8,), "float32")) -> R.Tuple(R.Tensor((1, 1, 8), "float32"), R.Tensor((1, "n + 1", 2, 4), "float32")):
        n = T.int64()
        with R.dataflow():
            normed = R.nn.rms_norm(R.sin(x), scale, axes=[-1], epsilon=1e-5)
            qkv = R.matmul(normed, R.sin(w))
            parts = R.split(qkv, [16, 24], axis=-1)
            q = R.reshape(parts[0], R.shape([1, 1, 4, 4]))
            k = R.concat((R.sin(past), R.reshape(parts[1], R.shape([1, 1, 2, 4]))), axis=1)
            v = R.concat((R.cos(past), R.reshape(parts[2], R.shape([1, 1, 2, 4]))), axis=1)
            a = R.nn.attention(q, k, v, causal_mask="BottomRight")
            y = R.add(R.matmul(R.reshape(a, R.shape([1, 1, 16])), R.sin(wo)), R.sin(x))
            R.output(y, k)
        return (y, k)

    @R.function
    def block(x: R.Tensor((1, 2, 5, 5), "float32"), w: R.Tensor((4, 2, 3, 3), "float32"), d: R.Tensor((4, 1, 3, 3), "float32"), gamma: R.Tensor((4,), "float32"), mean: R.Tensor((4,), "float32"), head: R.Tensor((3, 4), "float32")) -> R.Tensor((1, 3), "float32"):
        with R.dataflow():
            a = R.nn.conv2d(R.sin(x), R.sin(w), strides=2, padding=[1, 1, 1, 1])
            b = R.nn.batch_norm(a, gamma, R.sin(gamma), R.sin(mean), R.exp(R.sin(mean)), axis=1, training=False)
            c = R.nn.leakyrelu(b[0], alpha=0.1)
            e = R.add(R.nn.conv2d(c, R.sin(d), padding=1, groups=4), c)
            f = R.nn.max_pool2d(e, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)
            g = R.mean(f, axis=[2, 3])
            y = R.nn.softmax(R.matmul(g, R.permute_dims(R.sin(head))))
            R.output(y)
        return y

    # Weights of eight bits, a scale for each row.
    @R.function
    def quantised(x: R.Tensor((2, 6), "float32"), w: R.Tensor((4, 6), "float32")) -> R.Tuple(R.Tensor((4, 6), "int8"), R.Tensor((2, 4), "float32")):
        with R.dataflow():
            s = R.divide(R.max(R.abs(R.sin(w)), axis=[1]), R.const(127.0, "float32"))
            zero = R.zeros(R.shape([4]), "int8")
            q = R.quantize(R.sin(w), s, zero, axis=0, out_dtype="int8")
            y = R.matmul(R.sin(x), R.permute_dims(R.dequantize(q, s, zero, axis=0, out_dtype="float32")))
            R.output(q, y)
        return (q, y)

    # The tokens that make up most of a distribution, with what is left renormalised.
    @R.function
    def nucleus(logits: R.Tensor((2, 6), "float32")) -> R.Tuple(R.Tensor((2, 6), "float32"), R.Tensor((2, 6), "int64")):
        with R.dataflow():
            p = R.nn.softmax(R.multiply(R.sin(logits), R.const(4.0, "float32")), axis=-1)
            order = R.argsort(p, axis=-1, descending=True, dtype="int64")
            sorted_p = R.gather_elements(p, order, axis=1)
            before = R.cumsum(sorted_p, axis=1, exclusive=True)
            kept = R.where(R.less(before, R.const(0.8, "float32")), sorted_p, R.const(0.0, "float32"))
            y = R.scatter_elements(R.zeros_like(p), order, R.divide(kept, R.sum(kept, axis=[1], keepdims=True)), axis=1)
            R.output(y, order)
        return (y, order)
