define void @cast(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 2
  %v8 = load i64, ptr %v7
  %v10 = getelementptr inbounds i64, ptr %args, i64 1
  %v11 = load ptr, ptr %v10
  %v25 = getelementptr inbounds i64, ptr %args, i64 0
  %v26 = load ptr, ptr %v25
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v42, %b35 ]
  %v9 = mul i64 %v6, %v8
  %v12 = getelementptr inbounds i32, ptr %v11, i64 %v6
  %v13 = load i32, ptr %v12
  %v14 = sext i32 %v13 to i64
  %v27 = insertelement <4 x i64> poison, i64 %v14, i64 0
  %v28 = shufflevector <4 x i64> %v27, <4 x i64> poison, <4 x i32> zeroinitializer
  %v15 = icmp sgt i64 %v8, 0
  %v16 = select i1 %v15, i64 %v8, i64 0
  %v17 = add i64 0, %v16
  %v18 = and i64 %v16, -4
  %v19 = add i64 0, %v18
  %v22 = icmp slt i64 0, %v19
  br i1 %v22, label %b20, label %b21
b20:
  %v23 = phi i64 [ 0, %b3 ], [ %v30, %b20 ]
  %v24 = add i64 %v9, %v23
  %v29 = getelementptr inbounds i64, ptr %v26, i64 %v24
  store <4 x i64> %v28, ptr %v29, align 8
  %v30 = add i64 %v23, 4
  %v31 = icmp slt i64 %v30, %v19
  br i1 %v31, label %b20, label %b21, !llvm.loop !2
b21:
  %v32 = sub i64 %v17, %v19
  %v33 = icmp sgt i64 %v32, 0
  br i1 %v33, label %b34, label %b35
b34:
  %v36 = trunc i64 %v32 to i32
  %v37 = insertelement <4 x i32> poison, i32 %v36, i64 0
  %v38 = shufflevector <4 x i32> %v37, <4 x i32> poison, <4 x i32> zeroinitializer
  %v39 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v38
  %v40 = add i64 %v9, %v19
  %v41 = getelementptr i64, ptr %v26, i64 %v40
  call void @llvm.masked.store.v4i64.p0(<4 x i64> %v28, ptr %v41, i32 8, <4 x i1> %v39)
  br label %b35
b35:
  %v42 = add i64 %v6, 1
  %v43 = icmp slt i64 %v42, %v2
  br i1 %v43, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare void @llvm.masked.store.v4i64.p0(<4 x i64>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @expand(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 1
  %v8 = load i64, ptr %v7
  %v23 = getelementptr inbounds i64, ptr %args, i64 0
  %v24 = load ptr, ptr %v23
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v47, %b34 ]
  %v9 = mul i64 %v6, %v8
  %v10 = icmp sgt i64 %v8, 0
  %v11 = select i1 %v10, i64 %v8, i64 0
  %v12 = add i64 0, %v11
  %v13 = and i64 %v11, -4
  %v14 = add i64 0, %v13
  %v17 = icmp slt i64 0, %v14
  br i1 %v17, label %b15, label %b16
b15:
  %v18 = phi i64 [ 0, %b3 ], [ %v29, %b15 ]
  %v19 = add i64 %v9, %v18
  %v20 = add i64 %v18, 1
  %v21 = trunc i64 %v20 to i32
  %v22 = sub i32 %v21, 1
  %v25 = insertelement <4 x i32> poison, i32 %v22, i64 0
  %v26 = shufflevector <4 x i32> %v25, <4 x i32> poison, <4 x i32> zeroinitializer
  %v27 = add <4 x i32> %v26, <i32 0, i32 1, i32 2, i32 3>
  %v28 = getelementptr inbounds i32, ptr %v24, i64 %v19
  store <4 x i32> %v27, ptr %v28, align 4
  %v29 = add i64 %v18, 4
  %v30 = icmp slt i64 %v29, %v14
  br i1 %v30, label %b15, label %b16, !llvm.loop !2
b16:
  %v31 = sub i64 %v12, %v14
  %v32 = icmp sgt i64 %v31, 0
  br i1 %v32, label %b33, label %b34
b33:
  %v35 = trunc i64 %v31 to i32
  %v36 = insertelement <4 x i32> poison, i32 %v35, i64 0
  %v37 = shufflevector <4 x i32> %v36, <4 x i32> poison, <4 x i32> zeroinitializer
  %v38 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v37
  %v39 = add i64 %v9, %v14
  %v40 = add i64 %v14, 1
  %v41 = trunc i64 %v40 to i32
  %v42 = sub i32 %v41, 1
  %v43 = insertelement <4 x i32> poison, i32 %v42, i64 0
  %v44 = shufflevector <4 x i32> %v43, <4 x i32> poison, <4 x i32> zeroinitializer
  %v45 = add <4 x i32> %v44, <i32 0, i32 1, i32 2, i32 3>
  %v46 = getelementptr i32, ptr %v24, i64 %v39
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v45, ptr %v46, i32 4, <4 x i1> %v38)
  br label %b34
b34:
  %v47 = add i64 %v6, 1
  %v48 = icmp slt i64 %v47, %v2
  br i1 %v48, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @gather(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 2
  %v8 = load ptr, ptr %v7
  %v21 = getelementptr inbounds i64, ptr %args, i64 3
  %v22 = load ptr, ptr %v21
  %v25 = getelementptr inbounds i64, ptr %args, i64 4
  %v26 = load i64, ptr %v25
  %v41 = getelementptr inbounds i64, ptr %args, i64 1
  %v42 = load ptr, ptr %v41
  %v45 = getelementptr inbounds i64, ptr %args, i64 0
  %v46 = load ptr, ptr %v45
  %spare = alloca [8 x i8], align 64
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v63, %b53 ]
  %v9 = getelementptr inbounds i32, ptr %v8, i64 %v6
  %v10 = load i32, ptr %v9
  %v11 = icmp slt i32 %v10, 0
  %v12 = add i32 %v10, 10
  %v13 = select i1 %v11, i32 %v12, i32 %v10
  %v14 = sext i32 %v13 to i64
  %v15 = call i64 @llvm.smax.i64(i64 %v14, i64 -36028797018963968)
  %v16 = add i64 %v15, 108086391056891904
  %v17 = icmp slt i64 %v14, 10
  %v18 = icmp sle i64 0, %v14
  %v19 = and i1 %v17, %v18
  %v20 = icmp eq i1 %v19, zeroinitializer
  %v23 = getelementptr i64, ptr %v22, i64 0
  %v24 = select i1 %v20, ptr %v23, ptr %spare
  store i64 %v16, ptr %v24
  %v27 = mul i64 %v6, %v26
  %v28 = select i1 %v19, i64 %v14, i64 0
  %v29 = mul i64 %v28, %v26
  %v30 = icmp sgt i64 %v26, 0
  %v31 = select i1 %v30, i64 %v26, i64 0
  %v32 = add i64 0, %v31
  %v33 = and i64 %v31, -4
  %v34 = add i64 0, %v33
  %v37 = icmp slt i64 0, %v34
  br i1 %v37, label %b35, label %b36
b35:
  %v38 = phi i64 [ 0, %b3 ], [ %v48, %b35 ]
  %v39 = add i64 %v27, %v38
  %v40 = add i64 %v38, %v29
  %v43 = getelementptr inbounds float, ptr %v42, i64 %v40
  %v44 = load <4 x float>, ptr %v43, align 4
  %v47 = getelementptr inbounds float, ptr %v46, i64 %v39
  store <4 x float> %v44, ptr %v47, align 4
  %v48 = add i64 %v38, 4
  %v49 = icmp slt i64 %v48, %v34
  br i1 %v49, label %b35, label %b36, !llvm.loop !2
b36:
  %v50 = sub i64 %v32, %v34
  %v51 = icmp sgt i64 %v50, 0
  br i1 %v51, label %b52, label %b53
b52:
  %v54 = trunc i64 %v50 to i32
  %v55 = insertelement <4 x i32> poison, i32 %v54, i64 0
  %v56 = shufflevector <4 x i32> %v55, <4 x i32> poison, <4 x i32> zeroinitializer
  %v57 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v56
  %v58 = add i64 %v27, %v34
  %v59 = add i64 %v34, %v29
  %v60 = getelementptr float, ptr %v42, i64 %v59
  %v61 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v60, i32 4, <4 x i1> %v57, <4 x float> zeroinitializer)
  %v62 = getelementptr float, ptr %v46, i64 %v58
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v61, ptr %v62, i32 4, <4 x i1> %v57)
  br label %b53
b53:
  %v63 = add i64 %v6, 1
  %v64 = icmp slt i64 %v63, %v2
  br i1 %v64, label %b3, label %b4, !llvm.loop !3
b4:
  ret void
}
declare i64 @llvm.smax.i64(i64, i64)
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, <4 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}


define void @scatter_add_10_4(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = getelementptr inbounds i64, ptr %args, i64 1
  %v2 = load ptr, ptr %v1
  %v5 = getelementptr inbounds i64, ptr %args, i64 0
  %v6 = load ptr, ptr %v5
  %v13 = getelementptr inbounds i64, ptr %args, i64 2
  %v14 = load ptr, ptr %v13
  %v29 = getelementptr inbounds i64, ptr %args, i64 3
  %v30 = load ptr, ptr %v29
  %v46 = getelementptr inbounds i64, ptr %args, i64 4
  %v47 = load ptr, ptr %v46
  %v59 = getelementptr inbounds i64, ptr %args, i64 5
  %v60 = load ptr, ptr %v59
  %spare = alloca [8 x i8], align 64
  %v3 = getelementptr float, ptr %v2, i64 0
  %v4 = call <64 x float> @llvm.masked.load.v64f32.p0(ptr %v3, i32 4, <64 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <64 x float> zeroinitializer)
  %v7 = getelementptr float, ptr %v6, i64 0
  call void @llvm.masked.store.v64f32.p0(<64 x float> %v4, ptr %v7, i32 4, <64 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  br label %b8
b8:
  %v10 = phi i64 [ 0, %start ], [ %v54, %b45 ]
  %v11 = phi i64 [ 0, %start ], [ %v28, %b45 ]
  %v12 = phi i64 [ 0, %start ], [ %v40, %b45 ]
  %v15 = getelementptr inbounds i64, ptr %v14, i64 %v10
  %v16 = load i64, ptr %v15
  %v17 = icmp slt i64 %v16, 0
  %v18 = add i64 %v16, 10
  %v19 = select i1 %v17, i64 %v18, i64 %v16
  %v20 = icmp slt i64 %v19, 10
  %v21 = icmp sle i64 0, %v19
  %v22 = and i1 %v20, %v21
  %v23 = icmp ne i64 %v11, 0
  %v24 = or i1 %v22, %v23
  %v25 = call i64 @llvm.smin.i64(i64 %v19, i64 36028797018963967)
  %v26 = call i64 @llvm.smax.i64(i64 %v25, i64 -36028797018963968)
  %v27 = add i64 %v26, 108086391056891904
  %v28 = select i1 %v24, i64 %v11, i64 %v27
  %v31 = getelementptr inbounds i32, ptr %v30, i64 %v10
  %v32 = load i32, ptr %v31
  %v33 = sext i32 %v32 to i64
  %v34 = icmp slt i64 %v33, 4
  %v35 = icmp sle i64 0, %v33
  %v36 = and i1 %v34, %v35
  %v37 = icmp ne i64 %v12, 0
  %v38 = or i1 %v36, %v37
  %v39 = add i64 %v33, 180143985094819840
  %v40 = select i1 %v38, i64 %v12, i64 %v39
  %v41 = and i1 %v22, %v36
  %v42 = mul i64 %v19, 4
  %v43 = add i64 %v42, %v33
  br i1 %v41, label %b44, label %b45
b44:
  %v48 = getelementptr inbounds float, ptr %v47, i64 %v10
  %v49 = load float, ptr %v48
  %v50 = getelementptr inbounds float, ptr %v6, i64 %v43
  %v51 = load float, ptr %v50
  %v52 = fadd float %v51, %v49
  %v53 = getelementptr inbounds float, ptr %v6, i64 %v43
  store float %v52, ptr %v53
  br label %b45
b45:
  %v54 = add i64 %v10, 1
  %v55 = icmp slt i64 %v54, 24
  br i1 %v55, label %b8, label %b9, !llvm.loop !2
b9:
  %v56 = icmp ne i64 %v28, 0
  %v57 = select i1 %v56, i64 %v28, i64 %v40
  %v58 = icmp ne i64 %v57, 0
  %v61 = getelementptr i64, ptr %v60, i64 0
  %v62 = select i1 %v58, ptr %v61, ptr %spare
  store i64 %v57, ptr %v62
  ret void
}
declare <64 x float> @llvm.masked.load.v64f32.p0(ptr, i32, <64 x i1>, <64 x float>)
declare void @llvm.masked.store.v64f32.p0(<64 x float>, ptr, i32, <64 x i1>)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
