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
  %v101 = getelementptr inbounds i64, ptr %args, i64 0
  %v102 = load ptr, ptr %v101
  br label %b1
b1:
  %v3 = phi i64 [ 0, %start ], [ %v99, %b41 ]
  %v4 = phi float [ 0x0000000000000000, %start ], [ %v98, %b41 ]
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
  %v33 = getelementptr float, ptr %v32, i64 %v23
  %v34 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v33, i32 4, <16 x i1> %v30, <16 x float> splat (float 0x0000000000000000))
  %v35 = fmul <16 x float> %v34, %v34
  %v36 = select <16 x i1> %v30, <16 x float> %v35, <16 x float> splat (float 0x0000000000000000)
  %v37 = icmp sgt i64 %v19, 0
  %v38 = select i1 %v37, i64 %v19, i64 0
  %v39 = add i64 0, %v38
  %v42 = icmp slt i64 0, %v39
  br i1 %v42, label %b40, label %b41
b40:
  %v43 = phi i64 [ 0, %b1 ], [ %v82, %b73 ]
  %v44 = phi <16 x float> [ splat (float 0x0000000000000000), %b1 ], [ %v81, %b73 ]
  %v45 = mul i64 %v43, 256
  %v46 = add i64 %v20, %v45
  %v47 = mul i64 %v43, 16
  %v48 = sub i64 %v13, %v47
  %v49 = call i64 @llvm.smin.i64(i64 %v48, i64 16)
  %v50 = sub i64 16, %v48
  %v51 = call i64 @llvm.smin.i64(i64 %v50, i64 1)
  %v52 = icmp sgt i64 %v49, 0
  %v53 = select i1 %v52, i64 %v49, i64 0
  %v54 = add i64 0, %v53
  %v57 = icmp slt i64 0, %v54
  br i1 %v57, label %b55, label %b56
b55:
  %v58 = phi i64 [ 0, %b40 ], [ %v66, %b55 ]
  %v59 = phi <16 x float> [ splat (float 0x0000000000000000), %b40 ], [ %v65, %b55 ]
  %v60 = mul i64 %v58, 16
  %v61 = add i64 %v46, %v60
  %v62 = getelementptr inbounds float, ptr %v32, i64 %v61
  %v63 = load <16 x float>, ptr %v62, align 4
  %v64 = fmul <16 x float> %v63, %v63
  %v65 = fadd <16 x float> %v59, %v64
  %v66 = add i64 %v58, 1
  %v67 = icmp slt i64 %v66, %v54
  br i1 %v67, label %b55, label %b56, !llvm.loop !2
b56:
  %v68 = phi <16 x float> [ splat (float 0x0000000000000000), %b40 ], [ %v65, %b55 ]
  %v69 = icmp sgt i64 %v51, 0
  %v70 = select i1 %v69, i64 %v51, i64 0
  %v71 = add i64 0, %v70
  %v74 = icmp slt i64 0, %v71
  br i1 %v74, label %b72, label %b73
b72:
  %v75 = phi i64 [ 0, %b56 ], [ %v78, %b72 ]
  %v76 = phi <16 x float> [ %v68, %b56 ], [ %v77, %b72 ]
  %v77 = fadd <16 x float> %v76, %v36
  %v78 = add i64 %v75, 1
  %v79 = icmp slt i64 %v78, %v71
  br i1 %v79, label %b72, label %b73, !llvm.loop !3
b73:
  %v80 = phi <16 x float> [ %v68, %b56 ], [ %v77, %b72 ]
  %v81 = fadd <16 x float> %v44, %v80
  %v82 = add i64 %v43, 1
  %v83 = icmp slt i64 %v82, %v39
  br i1 %v83, label %b40, label %b41, !llvm.loop !4
b41:
  %v84 = phi <16 x float> [ splat (float 0x0000000000000000), %b1 ], [ %v81, %b73 ]
  %v85 = fadd <16 x float> splat (float 0x0000000000000000), %v84
  %v86 = shufflevector <16 x float> %v85, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v87 = shufflevector <16 x float> %v85, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v88 = fadd <8 x float> %v86, %v87
  %v89 = shufflevector <8 x float> %v88, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v90 = shufflevector <8 x float> %v88, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v91 = fadd <4 x float> %v89, %v90
  %v92 = shufflevector <4 x float> %v91, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v93 = shufflevector <4 x float> %v91, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v94 = fadd <2 x float> %v92, %v93
  %v95 = extractelement <2 x float> %v94, i64 0
  %v96 = extractelement <2 x float> %v94, i64 1
  %v97 = fadd float %v95, %v96
  %v98 = fadd float %v4, %v97
  %v99 = add i64 %v3, 1
  %v100 = icmp slt i64 %v99, 2
  br i1 %v100, label %b1, label %b2, !llvm.loop !5
b2:
  %v103 = getelementptr inbounds float, ptr %v102, i64 0
  store float %v98, ptr %v103
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
