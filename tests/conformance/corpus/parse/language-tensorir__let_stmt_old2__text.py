@T.prim_func
def func():
    with T.LetStmt(0) as x:
        with T.LetStmt(0) as y:
            T.evaluate(0)
        T.evaluate(0)
