define void @add(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v7 = getelementptr inbounds i64, ptr %args, i64 4
  %v8 = load i64, ptr %v7
  %v11 = getelementptr inbounds i64, ptr %args, i64 5
  %v12 = load i64, ptr %v11
  %v22 = getelementptr inbounds i64, ptr %args, i64 1
  %v23 = load ptr, ptr %v22
  %v33 = getelementptr inbounds i64, ptr %args, i64 6
  %v34 = load i64, ptr %v33
  %v36 = getelementptr inbounds i64, ptr %args, i64 7
  %v37 = load i64, ptr %v36
  %v86 = getelementptr inbounds i64, ptr %args, i64 8
  %v87 = load i64, ptr %v86
  %v88 = trunc i64 %v87 to i32
  %v89 = bitcast i32 %v88 to float
  %v166 = getelementptr inbounds i64, ptr %args, i64 9
  %v167 = load i64, ptr %v166
  %v168 = trunc i64 %v167 to i32
  %v169 = bitcast i32 %v168 to float
  %v191 = getelementptr inbounds i64, ptr %args, i64 2
  %v192 = load ptr, ptr %v191
  %v196 = getelementptr inbounds i64, ptr %args, i64 3
  %v197 = load ptr, ptr %v196
  %v201 = getelementptr inbounds i64, ptr %args, i64 0
  %v202 = load ptr, ptr %v201
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v5 = icmp slt i64 %begin, %v2
  br i1 %v5, label %b3, label %b4
b3:
  %v6 = phi i64 [ %begin, %start ], [ %v226, %b209 ]
  %v9 = mul i64 %v6, %v8
  %v10 = add i64 %v9, 0
  %v13 = add i64 0, %v12
  %v14 = sub i64 %v8, %v13
  %v15 = call i64 @llvm.smin.i64(i64 %v14, i64 1073741824)
  %v16 = call i64 @llvm.smax.i64(i64 %v15, i64 -1073741824)
  %v17 = trunc i64 %v16 to i32
  %v18 = insertelement <16 x i32> poison, i32 %v17, i64 0
  %v19 = shufflevector <16 x i32> %v18, <16 x i32> poison, <16 x i32> zeroinitializer
  %v20 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v19
  %v21 = add i64 %v10, %v12
  %v24 = getelementptr float, ptr %v23, i64 %v21
  %v25 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v24, i32 4, <16 x i1> %v20, <16 x float> splat (float 0x0000000000000000))
  %v26 = select <16 x i1> %v20, <16 x float> %v25, <16 x float> splat (float 0x0000000000000000)
  br label %b27
b27:
  %v29 = phi i64 [ 0, %b3 ], [ %v71, %b62 ]
  %v30 = phi <16 x float> [ splat (float 0x0000000000000000), %b3 ], [ %v70, %b62 ]
  %v31 = mul i64 %v29, 256
  %v32 = add i64 %v10, %v31
  %v35 = mul i64 %v29, %v34
  %v38 = add i64 %v35, %v37
  %v39 = call i64 @llvm.smin.i64(i64 %v38, i64 16)
  %v40 = sub i64 16, %v38
  %v41 = call i64 @llvm.smin.i64(i64 %v40, i64 1)
  %v42 = icmp sgt i64 %v39, 0
  %v43 = select i1 %v42, i64 %v39, i64 0
  %v44 = add i64 0, %v43
  %v47 = icmp slt i64 0, %v44
  br i1 %v47, label %b45, label %b46
b45:
  %v48 = phi i64 [ 0, %b27 ], [ %v55, %b45 ]
  %v49 = phi <16 x float> [ splat (float 0x0000000000000000), %b27 ], [ %v54, %b45 ]
  %v50 = mul i64 %v48, 16
  %v51 = add i64 %v32, %v50
  %v52 = getelementptr inbounds float, ptr %v23, i64 %v51
  %v53 = load <16 x float>, ptr %v52, align 4
  %v54 = fadd <16 x float> %v49, %v53
  %v55 = add i64 %v48, 1
  %v56 = icmp slt i64 %v55, %v44
  br i1 %v56, label %b45, label %b46, !llvm.loop !2
b46:
  %v57 = phi <16 x float> [ splat (float 0x0000000000000000), %b27 ], [ %v54, %b45 ]
  %v58 = icmp sgt i64 %v41, 0
  %v59 = select i1 %v58, i64 %v41, i64 0
  %v60 = add i64 0, %v59
  %v63 = icmp slt i64 0, %v60
  br i1 %v63, label %b61, label %b62
b61:
  %v64 = phi i64 [ 0, %b46 ], [ %v67, %b61 ]
  %v65 = phi <16 x float> [ %v57, %b46 ], [ %v66, %b61 ]
  %v66 = fadd <16 x float> %v65, %v26
  %v67 = add i64 %v64, 1
  %v68 = icmp slt i64 %v67, %v60
  br i1 %v68, label %b61, label %b62, !llvm.loop !3
b62:
  %v69 = phi <16 x float> [ %v57, %b46 ], [ %v66, %b61 ]
  %v70 = fadd <16 x float> %v30, %v69
  %v71 = add i64 %v29, 1
  %v72 = icmp slt i64 %v71, 2
  br i1 %v72, label %b27, label %b28, !llvm.loop !4
b28:
  %v73 = fadd <16 x float> splat (float 0x0000000000000000), %v70
  %v74 = shufflevector <16 x float> %v73, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v75 = shufflevector <16 x float> %v73, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v76 = fadd <8 x float> %v74, %v75
  %v77 = shufflevector <8 x float> %v76, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v78 = shufflevector <8 x float> %v76, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v79 = fadd <4 x float> %v77, %v78
  %v80 = shufflevector <4 x float> %v79, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v81 = shufflevector <4 x float> %v79, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v82 = fadd <2 x float> %v80, %v81
  %v83 = extractelement <2 x float> %v82, i64 0
  %v84 = extractelement <2 x float> %v82, i64 1
  %v85 = fadd float %v83, %v84
  %v90 = fdiv float %v85, %v89
  %v103 = insertelement <16 x float> poison, float %v90, i64 0
  %v104 = shufflevector <16 x float> %v103, <16 x float> poison, <16 x i32> zeroinitializer
  %v91 = add i64 %v9, 0
  %v92 = add i64 0, %v12
  %v93 = sub i64 %v8, %v92
  %v94 = call i64 @llvm.smin.i64(i64 %v93, i64 1073741824)
  %v95 = call i64 @llvm.smax.i64(i64 %v94, i64 -1073741824)
  %v96 = trunc i64 %v95 to i32
  %v97 = insertelement <16 x i32> poison, i32 %v96, i64 0
  %v98 = shufflevector <16 x i32> %v97, <16 x i32> poison, <16 x i32> zeroinitializer
  %v99 = icmp slt <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v98
  %v100 = add i64 %v91, %v12
  %v101 = getelementptr float, ptr %v23, i64 %v100
  %v102 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v101, i32 4, <16 x i1> %v99, <16 x float> splat (float 0x0000000000000000))
  %v105 = fsub <16 x float> %v102, %v104
  %v106 = fmul <16 x float> %v105, %v105
  %v107 = select <16 x i1> %v99, <16 x float> %v106, <16 x float> splat (float 0x0000000000000000)
  br label %b108
b108:
  %v110 = phi i64 [ 0, %b28 ], [ %v150, %b141 ]
  %v111 = phi <16 x float> [ splat (float 0x0000000000000000), %b28 ], [ %v149, %b141 ]
  %v112 = mul i64 %v110, 256
  %v113 = add i64 %v91, %v112
  %v114 = mul i64 %v110, %v34
  %v115 = add i64 %v114, %v37
  %v116 = call i64 @llvm.smin.i64(i64 %v115, i64 16)
  %v117 = sub i64 16, %v115
  %v118 = call i64 @llvm.smin.i64(i64 %v117, i64 1)
  %v119 = icmp sgt i64 %v116, 0
  %v120 = select i1 %v119, i64 %v116, i64 0
  %v121 = add i64 0, %v120
  %v124 = icmp slt i64 0, %v121
  br i1 %v124, label %b122, label %b123
b122:
  %v125 = phi i64 [ 0, %b108 ], [ %v134, %b122 ]
  %v126 = phi <16 x float> [ splat (float 0x0000000000000000), %b108 ], [ %v133, %b122 ]
  %v127 = mul i64 %v125, 16
  %v128 = add i64 %v113, %v127
  %v129 = getelementptr inbounds float, ptr %v23, i64 %v128
  %v130 = load <16 x float>, ptr %v129, align 4
  %v131 = fsub <16 x float> %v130, %v104
  %v132 = fmul <16 x float> %v131, %v131
  %v133 = fadd <16 x float> %v126, %v132
  %v134 = add i64 %v125, 1
  %v135 = icmp slt i64 %v134, %v121
  br i1 %v135, label %b122, label %b123, !llvm.loop !5
b123:
  %v136 = phi <16 x float> [ splat (float 0x0000000000000000), %b108 ], [ %v133, %b122 ]
  %v137 = icmp sgt i64 %v118, 0
  %v138 = select i1 %v137, i64 %v118, i64 0
  %v139 = add i64 0, %v138
  %v142 = icmp slt i64 0, %v139
  br i1 %v142, label %b140, label %b141
b140:
  %v143 = phi i64 [ 0, %b123 ], [ %v146, %b140 ]
  %v144 = phi <16 x float> [ %v136, %b123 ], [ %v145, %b140 ]
  %v145 = fadd <16 x float> %v144, %v107
  %v146 = add i64 %v143, 1
  %v147 = icmp slt i64 %v146, %v139
  br i1 %v147, label %b140, label %b141, !llvm.loop !6
b141:
  %v148 = phi <16 x float> [ %v136, %b123 ], [ %v145, %b140 ]
  %v149 = fadd <16 x float> %v111, %v148
  %v150 = add i64 %v110, 1
  %v151 = icmp slt i64 %v150, 2
  br i1 %v151, label %b108, label %b109, !llvm.loop !7
b109:
  %v152 = fadd <16 x float> splat (float 0x0000000000000000), %v149
  %v153 = shufflevector <16 x float> %v152, <16 x float> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v154 = shufflevector <16 x float> %v152, <16 x float> poison, <8 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v155 = fadd <8 x float> %v153, %v154
  %v156 = shufflevector <8 x float> %v155, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v157 = shufflevector <8 x float> %v155, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %v158 = fadd <4 x float> %v156, %v157
  %v159 = shufflevector <4 x float> %v158, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v160 = shufflevector <4 x float> %v158, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v161 = fadd <2 x float> %v159, %v160
  %v162 = extractelement <2 x float> %v161, i64 0
  %v163 = extractelement <2 x float> %v161, i64 1
  %v164 = fadd float %v162, %v163
  %v165 = fdiv float %v164, %v89
  %v170 = fadd float %v165, %v169
  %v171 = call float @llvm.sqrt.f32(float %v170)
  %v172 = fdiv float 0x3FF0000000000000, %v171
  %v185 = insertelement <8 x float> poison, float %v90, i64 0
  %v186 = shufflevector <8 x float> %v185, <8 x float> poison, <8 x i32> zeroinitializer
  %v188 = insertelement <8 x float> poison, float %v172, i64 0
  %v189 = shufflevector <8 x float> %v188, <8 x float> poison, <8 x i32> zeroinitializer
  %v173 = icmp sgt i64 %v8, 0
  %v174 = select i1 %v173, i64 %v8, i64 0
  %v175 = add i64 0, %v174
  %v176 = and i64 %v174, -8
  %v177 = add i64 0, %v176
  %v180 = icmp slt i64 0, %v177
  br i1 %v180, label %b178, label %b179
b178:
  %v181 = phi i64 [ 0, %b109 ], [ %v204, %b178 ]
  %v182 = add i64 %v181, %v9
  %v183 = getelementptr inbounds float, ptr %v23, i64 %v182
  %v184 = load <8 x float>, ptr %v183, align 4
  %v187 = fsub <8 x float> %v184, %v186
  %v190 = fmul <8 x float> %v187, %v189
  %v193 = getelementptr inbounds float, ptr %v192, i64 %v181
  %v194 = load <8 x float>, ptr %v193, align 4
  %v195 = fmul <8 x float> %v190, %v194
  %v198 = getelementptr inbounds float, ptr %v197, i64 %v181
  %v199 = load <8 x float>, ptr %v198, align 4
  %v200 = fadd <8 x float> %v195, %v199
  %v203 = getelementptr inbounds float, ptr %v202, i64 %v182
  store <8 x float> %v200, ptr %v203, align 4
  %v204 = add i64 %v181, 8
  %v205 = icmp slt i64 %v204, %v177
  br i1 %v205, label %b178, label %b179, !llvm.loop !8
b179:
  %v206 = sub i64 %v175, %v177
  %v207 = icmp sgt i64 %v206, 0
  br i1 %v207, label %b208, label %b209
b208:
  %v210 = trunc i64 %v206 to i32
  %v211 = insertelement <8 x i32> poison, i32 %v210, i64 0
  %v212 = shufflevector <8 x i32> %v211, <8 x i32> poison, <8 x i32> zeroinitializer
  %v213 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v212
  %v214 = add i64 %v177, %v9
  %v215 = getelementptr float, ptr %v23, i64 %v214
  %v216 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v215, i32 4, <8 x i1> %v213, <8 x float> zeroinitializer)
  %v217 = fsub <8 x float> %v216, %v186
  %v218 = fmul <8 x float> %v217, %v189
  %v219 = getelementptr float, ptr %v192, i64 %v177
  %v220 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v219, i32 4, <8 x i1> %v213, <8 x float> zeroinitializer)
  %v221 = fmul <8 x float> %v218, %v220
  %v222 = getelementptr float, ptr %v197, i64 %v177
  %v223 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v222, i32 4, <8 x i1> %v213, <8 x float> zeroinitializer)
  %v224 = fadd <8 x float> %v221, %v223
  %v225 = getelementptr float, ptr %v202, i64 %v214
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v224, ptr %v225, i32 4, <8 x i1> %v213)
  br label %b209
b209:
  %v226 = add i64 %v6, 1
  %v227 = icmp slt i64 %v226, %v2
  br i1 %v227, label %b3, label %b4, !llvm.loop !9
b4:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
declare float @llvm.sqrt.f32(float)
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
