define void @reduce_sum(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v6 = getelementptr inbounds i64, ptr %args, i64 2
  %v7 = load i64, ptr %v6
  %v9 = getelementptr inbounds i64, ptr %args, i64 3
  %v10 = load i64, ptr %v9
  %v15 = getelementptr inbounds i64, ptr %args, i64 4
  %v16 = load i64, ptr %v15
  %v21 = getelementptr inbounds i64, ptr %args, i64 5
  %v22 = load i64, ptr %v21
  %v31 = getelementptr inbounds i64, ptr %args, i64 1
  %v32 = load ptr, ptr %v31
  %v103 = getelementptr inbounds i64, ptr %args, i64 0
  %v104 = load ptr, ptr %v103
  %spare = alloca [64 x i8], align 64
  br label %b1
b1:
  %v3 = phi i64 [ 0, %start ], [ %v101, %b43 ]
  %v4 = phi float [ 0x0000000000000000, %start ], [ %v100, %b43 ]
  %v5 = mul i64 %v3, 4096
  %v8 = mul i64 %v3, %v7
  %v11 = add i64 %v8, %v10
  %v12 = udiv i64 %v11, 16
  %v13 = call i64 @llvm.smin.i64(i64 %v12, i64 256)
  %v14 = add i64 %v13, 1
  %v17 = add i64 %v14, %v16
  %v18 = udiv i64 %v17, 16
  %v19 = call i64 @llvm.smin.i64(i64 %v18, i64 16)
  %v20 = add i64 %v5, 0
  %v23 = add i64 0, %v22
  %v24 = sub i64 %v10, %v23
  %v25 = call i64 @llvm.smin.i64(i64 %v24, i64 1073741824)
  %v26 = call i64 @llvm.smax.i64(i64 %v25, i64 -1073741824)
  %v27 = trunc i64 %v26 to i32
  %v28 = insertelement <16 x i32> poison, i32 %v27, i64 0
  %v29 = shufflevector <16 x i32> %v28, <16 x i32> poison, <16 x i32> zeroinitializer
  %v30 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v29
  %v33 = icmp slt i64 %v23, %v10
  %v34 = getelementptr float, ptr %v32, i64 %v23
  %v35 = select i1 %v33, ptr %v34, ptr %spare
  %v36 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v35, i32 4, <16 x i1> %v30, <16 x float> splat (float 0x0000000000000000))
  %v37 = fmul <16 x float> %v36, %v36
  %v38 = select <16 x i1> %v30, <16 x float> %v37, <16 x float> splat (float 0x0000000000000000)
  %v39 = icmp sgt i64 %v19, 0
  %v40 = select i1 %v39, i64 %v19, i64 0
  %v41 = add i64 0, %v40
  %v44 = icmp slt i64 0, %v41
  br i1 %v44, label %b42, label %b43
b42:
  %v45 = phi i64 [ 0, %b1 ], [ %v84, %b75 ]
  %v46 = phi <16 x float> [ splat (float 0x0000000000000000), %b1 ], [ %v83, %b75 ]
  %v47 = mul i64 %v45, 256
  %v48 = add i64 %v20, %v47
  %v49 = mul i64 %v45, 16
  %v50 = sub i64 %v13, %v49
  %v51 = call i64 @llvm.smin.i64(i64 %v50, i64 16)
  %v52 = sub i64 16, %v50
  %v53 = call i64 @llvm.smin.i64(i64 %v52, i64 1)
  %v54 = icmp sgt i64 %v51, 0
  %v55 = select i1 %v54, i64 %v51, i64 0
  %v56 = add i64 0, %v55
  %v59 = icmp slt i64 0, %v56
  br i1 %v59, label %b57, label %b58
b57:
  %v60 = phi i64 [ 0, %b42 ], [ %v68, %b57 ]
  %v61 = phi <16 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v67, %b57 ]
  %v62 = mul i64 %v60, 16
  %v63 = add i64 %v48, %v62
  %v64 = getelementptr inbounds float, ptr %v32, i64 %v63
  %v65 = load <16 x float>, ptr %v64, align 4
  %v66 = fmul <16 x float> %v65, %v65
  %v67 = fadd <16 x float> %v61, %v66
  %v68 = add i64 %v60, 1
  %v69 = icmp slt i64 %v68, %v56
  br i1 %v69, label %b57, label %b58, !llvm.loop !2
b58:
  %v70 = phi <16 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v67, %b57 ]
  %v71 = icmp sgt i64 %v53, 0
  %v72 = select i1 %v71, i64 %v53, i64 0
  %v73 = add i64 0, %v72
  %v76 = icmp slt i64 0, %v73
  br i1 %v76, label %b74, label %b75
b74:
  %v77 = phi i64 [ 0, %b58 ], [ %v80, %b74 ]
  %v78 = phi <16 x float> [ %v70, %b58 ], [ %v79, %b74 ]
  %v79 = fadd <16 x float> %v78, %v38
  %v80 = add i64 %v77, 1
  %v81 = icmp slt i64 %v80, %v73
  br i1 %v81, label %b74, label %b75, !llvm.loop !3
b75:
  %v82 = phi <16 x float> [ %v70, %b58 ], [ %v79, %b74 ]
  %v83 = fadd <16 x float> %v46, %v82
  %v84 = add i64 %v45, 1
  %v85 = icmp slt i64 %v84, %v41
  br i1 %v85, label %b42, label %b43, !llvm.loop !4
b43:
  %v86 = phi <16 x float> [ splat (float 0x0000000000000000), %b1 ], [ %v83, %b75 ]
  %v87 = fadd <16 x float> splat (float 0x0000000000000000), %v86
  %v88 = shufflevector <16 x float> %v87, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v89 = shufflevector <16 x float> %v87, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v90 = fadd <8 x float> %v88, %v89
  %v91 = shufflevector <8 x float> %v90, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v92 = shufflevector <8 x float> %v90, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v93 = fadd <4 x float> %v91, %v92
  %v94 = shufflevector <4 x float> %v93, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v95 = shufflevector <4 x float> %v93, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v96 = fadd <2 x float> %v94, %v95
  %v97 = extractelement <2 x float> %v96, i64 0
  %v98 = extractelement <2 x float> %v96, i64 1
  %v99 = fadd float %v97, %v98
  %v100 = fadd float %v4, %v99
  %v101 = add i64 %v3, 1
  %v102 = icmp slt i64 %v101, 2
  br i1 %v102, label %b1, label %b2, !llvm.loop !5
b2:
  %v105 = getelementptr inbounds float, ptr %v104, i64 0
  store float %v100, ptr %v105
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
!5 = distinct !{!5, !0, !1}
