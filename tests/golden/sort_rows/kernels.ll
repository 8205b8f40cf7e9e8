define void @argsort_4_20(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [20 x i32], align 64
  %v10 = getelementptr inbounds i64, ptr %args, i64 2
  %v11 = load ptr, ptr %v10
  %v53 = getelementptr inbounds i64, ptr %args, i64 1
  %v54 = load ptr, ptr %v53
  %v60 = getelementptr inbounds i64, ptr %args, i64 0
  %v61 = load ptr, ptr %v60
  %v55 = add <32 x i64> splat (i64 0), <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11, i64 12, i64 13, i64 14, i64 15, i64 16, i64 17, i64 18, i64 19, i64 20, i64 21, i64 22, i64 23, i64 24, i64 25, i64 26, i64 27, i64 28, i64 29, i64 30, i64 31>
  %v2 = sub i64 %end, %begin
  %v3 = add i64 %begin, %v2
  %v6 = icmp slt i64 %begin, %v3
  br i1 %v6, label %b4, label %b5
b4:
  %v7 = phi i64 [ %begin, %start ], [ %v63, %b27 ]
  %v8 = mul i64 %v7, 20
  %v9 = add i64 %v8, 0
  %v12 = getelementptr float, ptr %v11, i64 %v9
  %v13 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %v12, i32 4, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <32 x float> zeroinitializer)
  %v14 = fcmp une <32 x float> %v13, %v13
  %v15 = fcmp oeq <32 x float> %v13, splat (float 0x0000000000000000)
  %v16 = bitcast <32 x float> %v13 to <32 x i32>
  %v17 = ashr <32 x i32> %v16, splat (i32 31)
  %v18 = and <32 x i32> %v17, splat (i32 2147483647)
  %v19 = xor <32 x i32> %v16, %v18
  %v20 = select <32 x i1> %v15, <32 x i32> splat (i32 0), <32 x i32> %v19
  %v21 = select <32 x i1> %v14, <32 x i32> splat (i32 2147483647), <32 x i32> %v20
  %v22 = getelementptr i32, ptr %v1, i64 0
  call void @llvm.masked.store.v32i32.p0(<32 x i32> %v21, ptr %v22, i32 4, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  %v50 = insertelement <32 x i64> poison, i64 %v8, i64 0
  %v51 = shufflevector <32 x i64> %v50, <32 x i64> poison, <32 x i32> zeroinitializer
  %v23 = getelementptr i32, ptr %v1, i64 0
  %v24 = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr %v23, i32 4, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <32 x i32> zeroinitializer)
  %v25 = trunc i64 0 to i32
  %v39 = insertelement <32 x i32> poison, i32 %v25, i64 0
  %v40 = shufflevector <32 x i32> %v39, <32 x i32> poison, <32 x i32> zeroinitializer
  %v41 = add <32 x i32> %v40, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, i32 30, i32 31>
  br label %b26
b26:
  %v28 = phi i64 [ 0, %b4 ], [ %v47, %b26 ]
  %v29 = phi <32 x i32> [ splat (i32 0), %b4 ], [ %v46, %b26 ]
  %v30 = getelementptr inbounds i32, ptr %v1, i64 %v28
  %v31 = load i32, ptr %v30
  %v32 = insertelement <32 x i32> poison, i32 %v31, i64 0
  %v33 = shufflevector <32 x i32> %v32, <32 x i32> poison, <32 x i32> zeroinitializer
  %v34 = icmp slt <32 x i32> %v33, %v24
  %v35 = icmp eq <32 x i32> %v33, %v24
  %v36 = trunc i64 %v28 to i32
  %v37 = insertelement <32 x i32> poison, i32 %v36, i64 0
  %v38 = shufflevector <32 x i32> %v37, <32 x i32> poison, <32 x i32> zeroinitializer
  %v42 = icmp slt <32 x i32> %v38, %v41
  %v43 = and <32 x i1> %v35, %v42
  %v44 = or <32 x i1> %v34, %v43
  %v45 = zext <32 x i1> %v44 to <32 x i32>
  %v46 = add <32 x i32> %v29, %v45
  %v47 = add i64 %v28, 1
  %v48 = icmp slt i64 %v47, 20
  br i1 %v48, label %b26, label %b27, !llvm.loop !2
b27:
  %v49 = sext <32 x i32> %v46 to <32 x i64>
  %v52 = add <32 x i64> %v51, %v49
  %v56 = getelementptr i64, ptr %v54, <32 x i64> %v52
  call void @llvm.masked.scatter.v32i64.v32p0(<32 x i64> %v55, <32 x ptr> %v56, i32 8, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  %v57 = add i64 %v8, 0
  %v58 = getelementptr float, ptr %v11, i64 %v57
  %v59 = call <32 x float> @llvm.masked.load.v32f32.p0(ptr %v58, i32 4, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <32 x float> zeroinitializer)
  %v62 = getelementptr float, ptr %v61, <32 x i64> %v52
  call void @llvm.masked.scatter.v32f32.v32p0(<32 x float> %v59, <32 x ptr> %v62, i32 4, <32 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  %v63 = add i64 %v7, 1
  %v64 = icmp slt i64 %v63, %v3
  br i1 %v64, label %b4, label %b5, !llvm.loop !3
b5:
  ret void
}
declare <32 x float> @llvm.masked.load.v32f32.p0(ptr, i32, <32 x i1>, <32 x float>)
declare void @llvm.masked.store.v32i32.p0(<32 x i32>, ptr, i32, <32 x i1>)
declare <32 x i32> @llvm.masked.load.v32i32.p0(ptr, i32, <32 x i1>, <32 x i32>)
declare void @llvm.masked.scatter.v32i64.v32p0(<32 x i64>, <32 x ptr>, i32, <32 x i1>)
declare void @llvm.masked.scatter.v32f32.v32p0(<32 x float>, <32 x ptr>, i32, <32 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
