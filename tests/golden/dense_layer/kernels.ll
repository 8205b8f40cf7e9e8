define void @relu(ptr noalias %args, i64 %begin, i64 %end) #0 {
start:
  %v1 = alloca [96 x float], align 64
  %v37 = getelementptr inbounds i64, ptr %args, i64 1
  %v38 = load ptr, ptr %v37
  %v44 = getelementptr inbounds i64, ptr %args, i64 2
  %v45 = load ptr, ptr %v44
  %v115 = getelementptr inbounds i64, ptr %args, i64 3
  %v116 = load ptr, ptr %v115
  %v122 = getelementptr inbounds i64, ptr %args, i64 0
  %v123 = load ptr, ptr %v122
  %v2 = sub i64 %end, %begin
  %v3 = add i64 %begin, %v2
  %v6 = icmp slt i64 %begin, %v3
  br i1 %v6, label %b4, label %b5
b4:
  %v7 = phi i64 [ %begin, %start ], [ %v210, %b136 ]
  %v8 = urem i64 %v7, 4
  %v9 = mul i64 %v8, -3
  %v10 = add i64 %v9, 10
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 3)
  %v12 = mul i64 %v8, 864
  %v13 = udiv i64 %v7, 4
  %v14 = mul i64 %v13, 16
  %v15 = mul i64 %v8, -18
  %v16 = mul i64 %v8, 1440
  %v17 = add i64 %v14, %v16
  %v18 = icmp sgt i64 %v11, 0
  %v19 = select i1 %v18, i64 %v11, i64 0
  %v20 = add i64 0, %v19
  %v23 = icmp slt i64 0, %v20
  br i1 %v23, label %b21, label %b22
b21:
  %v24 = phi i64 [ 0, %b4 ], [ %v127, %b104 ]
  %v25 = mul i64 %v24, 288
  %v26 = add i64 %v12, %v25
  br label %b27
b27:
  %v29 = phi i64 [ 0, %b21 ], [ %v81, %b27 ]
  %v30 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v50, %b27 ]
  %v31 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v56, %b27 ]
  %v32 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v62, %b27 ]
  %v33 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v68, %b27 ]
  %v34 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v74, %b27 ]
  %v35 = phi <16 x float> [ splat (float 0x0000000000000000), %b21 ], [ %v80, %b27 ]
  %v36 = add i64 %v26, %v29
  %v39 = getelementptr inbounds float, ptr %v38, i64 %v36
  %v40 = load float, ptr %v39
  %v41 = mul i64 %v29, 80
  %v42 = add i64 %v14, %v41
  %v43 = add i64 %v42, 0
  %v46 = getelementptr inbounds float, ptr %v45, i64 %v43
  %v47 = load <16 x float>, ptr %v46, align 4
  %v48 = insertelement <16 x float> poison, float %v40, i64 0
  %v49 = shufflevector <16 x float> %v48, <16 x float> poison, <16 x i32> zeroinitializer
  %v50 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v49, <16 x float> %v47, <16 x float> %v30)
  %v51 = add i64 %v36, 48
  %v52 = getelementptr inbounds float, ptr %v38, i64 %v51
  %v53 = load float, ptr %v52
  %v54 = insertelement <16 x float> poison, float %v53, i64 0
  %v55 = shufflevector <16 x float> %v54, <16 x float> poison, <16 x i32> zeroinitializer
  %v56 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v55, <16 x float> %v47, <16 x float> %v31)
  %v57 = add i64 %v36, 96
  %v58 = getelementptr inbounds float, ptr %v38, i64 %v57
  %v59 = load float, ptr %v58
  %v60 = insertelement <16 x float> poison, float %v59, i64 0
  %v61 = shufflevector <16 x float> %v60, <16 x float> poison, <16 x i32> zeroinitializer
  %v62 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v61, <16 x float> %v47, <16 x float> %v32)
  %v63 = add i64 %v36, 144
  %v64 = getelementptr inbounds float, ptr %v38, i64 %v63
  %v65 = load float, ptr %v64
  %v66 = insertelement <16 x float> poison, float %v65, i64 0
  %v67 = shufflevector <16 x float> %v66, <16 x float> poison, <16 x i32> zeroinitializer
  %v68 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v67, <16 x float> %v47, <16 x float> %v33)
  %v69 = add i64 %v36, 192
  %v70 = getelementptr inbounds float, ptr %v38, i64 %v69
  %v71 = load float, ptr %v70
  %v72 = insertelement <16 x float> poison, float %v71, i64 0
  %v73 = shufflevector <16 x float> %v72, <16 x float> poison, <16 x i32> zeroinitializer
  %v74 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v73, <16 x float> %v47, <16 x float> %v34)
  %v75 = add i64 %v36, 240
  %v76 = getelementptr inbounds float, ptr %v38, i64 %v75
  %v77 = load float, ptr %v76
  %v78 = insertelement <16 x float> poison, float %v77, i64 0
  %v79 = shufflevector <16 x float> %v78, <16 x float> poison, <16 x i32> zeroinitializer
  %v80 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v79, <16 x float> %v47, <16 x float> %v35)
  %v81 = add i64 %v29, 1
  %v82 = icmp slt i64 %v81, 48
  br i1 %v82, label %b27, label %b28, !llvm.loop !2
b28:
  %v83 = getelementptr inbounds float, ptr %v1, i64 0
  store <16 x float> %v50, ptr %v83, align 4
  %v84 = add i64 16, 0
  %v85 = getelementptr inbounds float, ptr %v1, i64 %v84
  store <16 x float> %v56, ptr %v85, align 4
  %v86 = add i64 32, 0
  %v87 = getelementptr inbounds float, ptr %v1, i64 %v86
  store <16 x float> %v62, ptr %v87, align 4
  %v88 = add i64 48, 0
  %v89 = getelementptr inbounds float, ptr %v1, i64 %v88
  store <16 x float> %v68, ptr %v89, align 4
  %v90 = add i64 64, 0
  %v91 = getelementptr inbounds float, ptr %v1, i64 %v90
  store <16 x float> %v74, ptr %v91, align 4
  %v92 = add i64 80, 0
  %v93 = getelementptr inbounds float, ptr %v1, i64 %v92
  store <16 x float> %v80, ptr %v93, align 4
  %v94 = mul i64 %v24, -6
  %v95 = add i64 %v15, %v94
  %v96 = add i64 %v95, 64
  %v97 = call i64 @llvm.smin.i64(i64 %v96, i64 6)
  %v98 = mul i64 %v24, 480
  %v99 = add i64 %v17, %v98
  %v100 = icmp sgt i64 %v97, 0
  %v101 = select i1 %v100, i64 %v97, i64 0
  %v102 = add i64 0, %v101
  %v105 = icmp slt i64 0, %v102
  br i1 %v105, label %b103, label %b104
b103:
  %v106 = phi i64 [ 0, %b28 ], [ %v125, %b103 ]
  %v107 = mul i64 %v106, 16
  %v108 = mul i64 %v106, 80
  %v109 = add i64 %v99, %v108
  %v110 = add i64 %v107, 0
  %v111 = getelementptr inbounds float, ptr %v1, i64 %v110
  %v112 = load <16 x float>, ptr %v111, align 4
  %v113 = add i64 %v109, 0
  %v114 = add i64 %v14, 0
  %v117 = getelementptr inbounds float, ptr %v116, i64 %v114
  %v118 = load <16 x float>, ptr %v117, align 4
  %v119 = fadd <16 x float> %v112, %v118
  %v120 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %v119
  %v121 = select <16 x i1> %v120, <16 x float> splat (float 0x0000000000000000), <16 x float> %v119
  %v124 = getelementptr inbounds float, ptr %v123, i64 %v113
  store <16 x float> %v121, ptr %v124, align 4
  %v125 = add i64 %v106, 1
  %v126 = icmp slt i64 %v125, %v102
  br i1 %v126, label %b103, label %b104, !llvm.loop !3
b104:
  %v127 = add i64 %v24, 1
  %v128 = icmp slt i64 %v127, %v20
  br i1 %v128, label %b21, label %b22, !llvm.loop !4
b22:
  %v129 = mul i64 %v8, 3
  %v130 = add i64 %v129, -7
  %v131 = call i64 @llvm.smin.i64(i64 %v130, i64 1)
  %v132 = icmp sgt i64 %v131, 0
  %v133 = select i1 %v132, i64 %v131, i64 0
  %v134 = add i64 0, %v133
  %v137 = icmp slt i64 0, %v134
  br i1 %v137, label %b135, label %b136
b135:
  %v138 = phi i64 [ 0, %b22 ], [ %v208, %b188 ]
  br label %b139
b139:
  %v141 = phi i64 [ 0, %b135 ], [ %v175, %b139 ]
  %v142 = phi <16 x float> [ splat (float 0x0000000000000000), %b135 ], [ %v156, %b139 ]
  %v143 = phi <16 x float> [ splat (float 0x0000000000000000), %b135 ], [ %v162, %b139 ]
  %v144 = phi <16 x float> [ splat (float 0x0000000000000000), %b135 ], [ %v168, %b139 ]
  %v145 = phi <16 x float> [ splat (float 0x0000000000000000), %b135 ], [ %v174, %b139 ]
  %v146 = add i64 %v141, 2880
  %v147 = getelementptr inbounds float, ptr %v38, i64 %v146
  %v148 = load float, ptr %v147
  %v149 = mul i64 %v141, 80
  %v150 = add i64 %v14, %v149
  %v151 = add i64 %v150, 0
  %v152 = getelementptr inbounds float, ptr %v45, i64 %v151
  %v153 = load <16 x float>, ptr %v152, align 4
  %v154 = insertelement <16 x float> poison, float %v148, i64 0
  %v155 = shufflevector <16 x float> %v154, <16 x float> poison, <16 x i32> zeroinitializer
  %v156 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v155, <16 x float> %v153, <16 x float> %v142)
  %v157 = add i64 %v141, 2928
  %v158 = getelementptr inbounds float, ptr %v38, i64 %v157
  %v159 = load float, ptr %v158
  %v160 = insertelement <16 x float> poison, float %v159, i64 0
  %v161 = shufflevector <16 x float> %v160, <16 x float> poison, <16 x i32> zeroinitializer
  %v162 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v161, <16 x float> %v153, <16 x float> %v143)
  %v163 = add i64 %v141, 2976
  %v164 = getelementptr inbounds float, ptr %v38, i64 %v163
  %v165 = load float, ptr %v164
  %v166 = insertelement <16 x float> poison, float %v165, i64 0
  %v167 = shufflevector <16 x float> %v166, <16 x float> poison, <16 x i32> zeroinitializer
  %v168 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v167, <16 x float> %v153, <16 x float> %v144)
  %v169 = add i64 %v141, 3024
  %v170 = getelementptr inbounds float, ptr %v38, i64 %v169
  %v171 = load float, ptr %v170
  %v172 = insertelement <16 x float> poison, float %v171, i64 0
  %v173 = shufflevector <16 x float> %v172, <16 x float> poison, <16 x i32> zeroinitializer
  %v174 = call <16 x float> @llvm.fma.v16f32(<16 x float> %v173, <16 x float> %v153, <16 x float> %v145)
  %v175 = add i64 %v141, 1
  %v176 = icmp slt i64 %v175, 48
  br i1 %v176, label %b139, label %b140, !llvm.loop !5
b140:
  %v177 = getelementptr inbounds float, ptr %v1, i64 0
  store <16 x float> %v156, ptr %v177, align 4
  %v178 = add i64 16, 0
  %v179 = getelementptr inbounds float, ptr %v1, i64 %v178
  store <16 x float> %v162, ptr %v179, align 4
  %v180 = add i64 32, 0
  %v181 = getelementptr inbounds float, ptr %v1, i64 %v180
  store <16 x float> %v168, ptr %v181, align 4
  %v182 = add i64 48, 0
  %v183 = getelementptr inbounds float, ptr %v1, i64 %v182
  store <16 x float> %v174, ptr %v183, align 4
  %v184 = icmp sgt i64 4, 0
  %v185 = select i1 %v184, i64 4, i64 0
  %v186 = add i64 0, %v185
  %v189 = icmp slt i64 0, %v186
  br i1 %v189, label %b187, label %b188
b187:
  %v190 = phi i64 [ 0, %b140 ], [ %v206, %b187 ]
  %v191 = mul i64 %v190, 16
  %v192 = mul i64 %v190, 80
  %v193 = add i64 %v14, %v192
  %v194 = add i64 %v191, 0
  %v195 = getelementptr inbounds float, ptr %v1, i64 %v194
  %v196 = load <16 x float>, ptr %v195, align 4
  %v197 = add i64 %v193, 0
  %v198 = add i64 %v197, 4800
  %v199 = add i64 %v14, 0
  %v200 = getelementptr inbounds float, ptr %v116, i64 %v199
  %v201 = load <16 x float>, ptr %v200, align 4
  %v202 = fadd <16 x float> %v196, %v201
  %v203 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %v202
  %v204 = select <16 x i1> %v203, <16 x float> splat (float 0x0000000000000000), <16 x float> %v202
  %v205 = getelementptr inbounds float, ptr %v123, i64 %v198
  store <16 x float> %v204, ptr %v205, align 4
  %v206 = add i64 %v190, 1
  %v207 = icmp slt i64 %v206, %v186
  br i1 %v207, label %b187, label %b188, !llvm.loop !6
b188:
  %v208 = add i64 %v138, 1
  %v209 = icmp slt i64 %v208, %v134
  br i1 %v209, label %b135, label %b136, !llvm.loop !7
b136:
  %v210 = add i64 %v7, 1
  %v211 = icmp slt i64 %v210, %v3
  br i1 %v211, label %b4, label %b5, !llvm.loop !8
b5:
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
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
