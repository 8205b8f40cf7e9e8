define void @reduce_sum(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v13 = getelementptr inbounds i64, ptr %args, i64 2
  %v14 = load i64, ptr %v13
  %v22 = getelementptr inbounds i64, ptr %args, i64 3
  %v23 = load i64, ptr %v22
  %v26 = getelementptr inbounds i64, ptr %args, i64 4
  %v27 = load i64, ptr %v26
  %v34 = getelementptr inbounds i64, ptr %args, i64 5
  %v35 = load i64, ptr %v34
  %v38 = getelementptr inbounds i64, ptr %args, i64 6
  %v39 = load i64, ptr %v38
  %v46 = getelementptr inbounds i64, ptr %args, i64 7
  %v47 = load i64, ptr %v46
  %v50 = getelementptr inbounds i64, ptr %args, i64 8
  %v51 = load i64, ptr %v50
  %v54 = getelementptr inbounds i64, ptr %args, i64 9
  %v55 = load i64, ptr %v54
  %v58 = getelementptr inbounds i64, ptr %args, i64 10
  %v59 = load i64, ptr %v58
  %v69 = getelementptr inbounds i64, ptr %args, i64 11
  %v70 = load i64, ptr %v69
  %v84 = getelementptr inbounds i64, ptr %args, i64 12
  %v85 = load i64, ptr %v84
  %v88 = getelementptr inbounds i64, ptr %args, i64 1
  %v89 = load ptr, ptr %v88
  %v112 = getelementptr inbounds i64, ptr %args, i64 0
  %v113 = load ptr, ptr %v112
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -8
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v115, %b10 ]
  br label %b9
b9:
  %v11 = phi i64 [ 0, %b5 ], [ %v110, %b19 ]
  %v12 = phi <8 x float> [ splat (float 0x0000000000000000), %b5 ], [ %v109, %b19 ]
  %v15 = mul i64 %v11, %v14
  %v16 = add i64 %v8, %v15
  %v17 = mul i64 %v11, -1
  br label %b18
b18:
  %v20 = phi i64 [ 0, %b9 ], [ %v107, %b31 ]
  %v21 = phi <8 x float> [ splat (float 0x0000000000000000), %b9 ], [ %v106, %b31 ]
  %v24 = mul i64 %v20, %v23
  %v25 = add i64 %v16, %v24
  %v28 = mul i64 %v20, %v27
  %v29 = add i64 %v17, %v28
  br label %b30
b30:
  %v32 = phi i64 [ 0, %b18 ], [ %v104, %b43 ]
  %v33 = phi <8 x float> [ splat (float 0x0000000000000000), %b18 ], [ %v103, %b43 ]
  %v36 = mul i64 %v32, %v35
  %v37 = add i64 %v25, %v36
  %v40 = mul i64 %v32, %v39
  %v41 = add i64 %v29, %v40
  br label %b42
b42:
  %v44 = phi i64 [ 0, %b30 ], [ %v101, %b65 ]
  %v45 = phi <8 x float> [ splat (float 0x0000000000000000), %b30 ], [ %v100, %b65 ]
  %v48 = mul i64 %v44, %v47
  %v49 = add i64 %v37, %v48
  %v52 = mul i64 %v44, %v51
  %v53 = add i64 %v41, %v52
  %v56 = add i64 %v53, %v55
  %v57 = udiv i64 %v56, 16
  %v60 = add i64 %v57, %v59
  %v61 = icmp sgt i64 2, 0
  %v62 = select i1 %v61, i64 2, i64 0
  %v63 = add i64 0, %v62
  %v66 = icmp slt i64 0, %v63
  br i1 %v66, label %b64, label %b65
b64:
  %v67 = phi i64 [ 0, %b42 ], [ %v97, %b80 ]
  %v68 = phi <8 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v96, %b80 ]
  %v71 = mul i64 %v67, %v70
  %v72 = add i64 %v49, %v71
  %v73 = mul i64 %v67, 16
  %v74 = sub i64 %v60, %v73
  %v75 = call i64 @llvm.smin.i64(i64 %v74, i64 16)
  %v76 = icmp sgt i64 %v75, 0
  %v77 = select i1 %v76, i64 %v75, i64 0
  %v78 = add i64 0, %v77
  %v81 = icmp slt i64 0, %v78
  br i1 %v81, label %b79, label %b80
b79:
  %v82 = phi i64 [ 0, %b64 ], [ %v93, %b79 ]
  %v83 = phi <8 x float> [ splat (float 0x0000000000000000), %b64 ], [ %v92, %b79 ]
  %v86 = mul i64 %v82, %v85
  %v87 = add i64 %v72, %v86
  %v90 = getelementptr inbounds float, ptr %v89, i64 %v87
  %v91 = load <8 x float>, ptr %v90, align 4
  %v92 = fadd <8 x float> %v83, %v91
  %v93 = add i64 %v82, 1
  %v94 = icmp slt i64 %v93, %v78
  br i1 %v94, label %b79, label %b80, !llvm.loop !2
b80:
  %v95 = phi <8 x float> [ splat (float 0x0000000000000000), %b64 ], [ %v92, %b79 ]
  %v96 = fadd <8 x float> %v68, %v95
  %v97 = add i64 %v67, 1
  %v98 = icmp slt i64 %v97, %v63
  br i1 %v98, label %b64, label %b65, !llvm.loop !3
b65:
  %v99 = phi <8 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v96, %b80 ]
  %v100 = fadd <8 x float> %v45, %v99
  %v101 = add i64 %v44, 1
  %v102 = icmp slt i64 %v101, 2
  br i1 %v102, label %b42, label %b43, !llvm.loop !4
b43:
  %v103 = fadd <8 x float> %v33, %v100
  %v104 = add i64 %v32, 1
  %v105 = icmp slt i64 %v104, 2
  br i1 %v105, label %b30, label %b31, !llvm.loop !5
b31:
  %v106 = fadd <8 x float> %v21, %v103
  %v107 = add i64 %v20, 1
  %v108 = icmp slt i64 %v107, 2
  br i1 %v108, label %b18, label %b19, !llvm.loop !6
b19:
  %v109 = fadd <8 x float> %v12, %v106
  %v110 = add i64 %v11, 1
  %v111 = icmp slt i64 %v110, 2
  br i1 %v111, label %b9, label %b10, !llvm.loop !7
b10:
  %v114 = getelementptr inbounds float, ptr %v113, i64 %v8
  store <8 x float> %v109, ptr %v114, align 4
  %v115 = add i64 %v8, 8
  %v116 = icmp slt i64 %v115, %v4
  br i1 %v116, label %b5, label %b6, !llvm.loop !8
b6:
  %v117 = sub i64 %v2, %v4
  %v118 = icmp sgt i64 %v117, 0
  br i1 %v118, label %b119, label %b120
b119:
  %v121 = trunc i64 %v117 to i32
  %v122 = insertelement <8 x i32> poison, i32 %v121, i64 0
  %v123 = shufflevector <8 x i32> %v122, <8 x i32> poison, <8 x i32> zeroinitializer
  %v124 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v123
  br label %b125
b125:
  %v127 = phi i64 [ 0, %b119 ], [ %v202, %b133 ]
  %v128 = phi <8 x float> [ splat (float 0x0000000000000000), %b119 ], [ %v201, %b133 ]
  %v129 = mul i64 %v127, %v14
  %v130 = add i64 %v4, %v129
  %v131 = mul i64 %v127, -1
  br label %b132
b132:
  %v134 = phi i64 [ 0, %b125 ], [ %v199, %b141 ]
  %v135 = phi <8 x float> [ splat (float 0x0000000000000000), %b125 ], [ %v198, %b141 ]
  %v136 = mul i64 %v134, %v23
  %v137 = add i64 %v130, %v136
  %v138 = mul i64 %v134, %v27
  %v139 = add i64 %v131, %v138
  br label %b140
b140:
  %v142 = phi i64 [ 0, %b132 ], [ %v196, %b149 ]
  %v143 = phi <8 x float> [ splat (float 0x0000000000000000), %b132 ], [ %v195, %b149 ]
  %v144 = mul i64 %v142, %v35
  %v145 = add i64 %v137, %v144
  %v146 = mul i64 %v142, %v39
  %v147 = add i64 %v139, %v146
  br label %b148
b148:
  %v150 = phi i64 [ 0, %b140 ], [ %v193, %b163 ]
  %v151 = phi <8 x float> [ splat (float 0x0000000000000000), %b140 ], [ %v192, %b163 ]
  %v152 = mul i64 %v150, %v47
  %v153 = add i64 %v145, %v152
  %v154 = mul i64 %v150, %v51
  %v155 = add i64 %v147, %v154
  %v156 = add i64 %v155, %v55
  %v157 = udiv i64 %v156, 16
  %v158 = add i64 %v157, %v59
  %v159 = icmp sgt i64 2, 0
  %v160 = select i1 %v159, i64 2, i64 0
  %v161 = add i64 0, %v160
  %v164 = icmp slt i64 0, %v161
  br i1 %v164, label %b162, label %b163
b162:
  %v165 = phi i64 [ 0, %b148 ], [ %v189, %b176 ]
  %v166 = phi <8 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v188, %b176 ]
  %v167 = mul i64 %v165, %v70
  %v168 = add i64 %v153, %v167
  %v169 = mul i64 %v165, 16
  %v170 = sub i64 %v158, %v169
  %v171 = call i64 @llvm.smin.i64(i64 %v170, i64 16)
  %v172 = icmp sgt i64 %v171, 0
  %v173 = select i1 %v172, i64 %v171, i64 0
  %v174 = add i64 0, %v173
  %v177 = icmp slt i64 0, %v174
  br i1 %v177, label %b175, label %b176
b175:
  %v178 = phi i64 [ 0, %b162 ], [ %v185, %b175 ]
  %v179 = phi <8 x float> [ splat (float 0x0000000000000000), %b162 ], [ %v184, %b175 ]
  %v180 = mul i64 %v178, %v85
  %v181 = add i64 %v168, %v180
  %v182 = getelementptr float, ptr %v89, i64 %v181
  %v183 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v182, i32 4, <8 x i1> %v124, <8 x float> zeroinitializer)
  %v184 = fadd <8 x float> %v179, %v183
  %v185 = add i64 %v178, 1
  %v186 = icmp slt i64 %v185, %v174
  br i1 %v186, label %b175, label %b176, !llvm.loop !9
b176:
  %v187 = phi <8 x float> [ splat (float 0x0000000000000000), %b162 ], [ %v184, %b175 ]
  %v188 = fadd <8 x float> %v166, %v187
  %v189 = add i64 %v165, 1
  %v190 = icmp slt i64 %v189, %v161
  br i1 %v190, label %b162, label %b163, !llvm.loop !10
b163:
  %v191 = phi <8 x float> [ splat (float 0x0000000000000000), %b148 ], [ %v188, %b176 ]
  %v192 = fadd <8 x float> %v151, %v191
  %v193 = add i64 %v150, 1
  %v194 = icmp slt i64 %v193, 2
  br i1 %v194, label %b148, label %b149, !llvm.loop !11
b149:
  %v195 = fadd <8 x float> %v143, %v192
  %v196 = add i64 %v142, 1
  %v197 = icmp slt i64 %v196, 2
  br i1 %v197, label %b140, label %b141, !llvm.loop !12
b141:
  %v198 = fadd <8 x float> %v135, %v195
  %v199 = add i64 %v134, 1
  %v200 = icmp slt i64 %v199, 2
  br i1 %v200, label %b132, label %b133, !llvm.loop !13
b133:
  %v201 = fadd <8 x float> %v128, %v198
  %v202 = add i64 %v127, 1
  %v203 = icmp slt i64 %v202, 2
  br i1 %v203, label %b125, label %b126, !llvm.loop !14
b126:
  %v204 = getelementptr float, ptr %v113, i64 %v4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v201, ptr %v204, i32 4, <8 x i1> %v124)
  br label %b120
b120:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
attributes #0 = { nounwind "no-trapping-math"="true" "min-legal-vector-width"="256" "prefer-vector-width"="256" }
!0 = !{!"llvm.loop.vectorize.enable", i1 false}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = distinct !{!2, !0, !1}
!3 = distinct !{!3, !0, !1}
!4 = distinct !{!4, !0, !1}
!5 = distinct !{!5, !0, !1}
!6 = distinct !{!6, !0, !1}
!7 = distinct !{!7, !0, !1}
!8 = distinct !{!8, !0, !1}
!9 = distinct !{!9, !0, !1}
!10 = distinct !{!10, !0, !1}
!11 = distinct !{!11, !0, !1}
!12 = distinct !{!12, !0, !1}
!13 = distinct !{!13, !0, !1}
!14 = distinct !{!14, !0, !1}
