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
  %v61 = getelementptr inbounds i64, ptr %args, i64 11
  %v62 = load i64, ptr %v61
  %v73 = getelementptr inbounds i64, ptr %args, i64 12
  %v74 = load i64, ptr %v73
  %v88 = getelementptr inbounds i64, ptr %args, i64 13
  %v89 = load i64, ptr %v88
  %v92 = getelementptr inbounds i64, ptr %args, i64 1
  %v93 = load ptr, ptr %v92
  %v116 = getelementptr inbounds i64, ptr %args, i64 0
  %v117 = load ptr, ptr %v116
  %v1 = sub i64 %end, %begin
  %v2 = add i64 %begin, %v1
  %v3 = and i64 %v1, -8
  %v4 = add i64 %begin, %v3
  %v7 = icmp slt i64 %begin, %v4
  br i1 %v7, label %b5, label %b6
b5:
  %v8 = phi i64 [ %begin, %start ], [ %v119, %b10 ]
  br label %b9
b9:
  %v11 = phi i64 [ 0, %b5 ], [ %v114, %b19 ]
  %v12 = phi <8 x float> [ splat (float 0x0000000000000000), %b5 ], [ %v113, %b19 ]
  %v15 = mul i64 %v11, %v14
  %v16 = add i64 %v8, %v15
  %v17 = mul i64 %v11, -1
  br label %b18
b18:
  %v20 = phi i64 [ 0, %b9 ], [ %v111, %b31 ]
  %v21 = phi <8 x float> [ splat (float 0x0000000000000000), %b9 ], [ %v110, %b31 ]
  %v24 = mul i64 %v20, %v23
  %v25 = add i64 %v16, %v24
  %v28 = mul i64 %v20, %v27
  %v29 = add i64 %v17, %v28
  br label %b30
b30:
  %v32 = phi i64 [ 0, %b18 ], [ %v108, %b43 ]
  %v33 = phi <8 x float> [ splat (float 0x0000000000000000), %b18 ], [ %v107, %b43 ]
  %v36 = mul i64 %v32, %v35
  %v37 = add i64 %v25, %v36
  %v40 = mul i64 %v32, %v39
  %v41 = add i64 %v29, %v40
  br label %b42
b42:
  %v44 = phi i64 [ 0, %b30 ], [ %v105, %b69 ]
  %v45 = phi <8 x float> [ splat (float 0x0000000000000000), %b30 ], [ %v104, %b69 ]
  %v48 = mul i64 %v44, %v47
  %v49 = add i64 %v37, %v48
  %v52 = mul i64 %v44, %v51
  %v53 = add i64 %v41, %v52
  %v56 = add i64 %v53, %v55
  %v57 = udiv i64 %v56, 16
  %v60 = add i64 %v57, %v59
  %v63 = add i64 %v60, %v62
  %v64 = udiv i64 %v63, 16
  %v65 = icmp sgt i64 %v64, 0
  %v66 = select i1 %v65, i64 %v64, i64 0
  %v67 = add i64 0, %v66
  %v70 = icmp slt i64 0, %v67
  br i1 %v70, label %b68, label %b69
b68:
  %v71 = phi i64 [ 0, %b42 ], [ %v101, %b84 ]
  %v72 = phi <8 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v100, %b84 ]
  %v75 = mul i64 %v71, %v74
  %v76 = add i64 %v49, %v75
  %v77 = mul i64 %v71, 16
  %v78 = sub i64 %v60, %v77
  %v79 = call i64 @llvm.smin.i64(i64 %v78, i64 16)
  %v80 = icmp sgt i64 %v79, 0
  %v81 = select i1 %v80, i64 %v79, i64 0
  %v82 = add i64 0, %v81
  %v85 = icmp slt i64 0, %v82
  br i1 %v85, label %b83, label %b84
b83:
  %v86 = phi i64 [ 0, %b68 ], [ %v97, %b83 ]
  %v87 = phi <8 x float> [ splat (float 0x0000000000000000), %b68 ], [ %v96, %b83 ]
  %v90 = mul i64 %v86, %v89
  %v91 = add i64 %v76, %v90
  %v94 = getelementptr inbounds float, ptr %v93, i64 %v91
  %v95 = load <8 x float>, ptr %v94, align 4
  %v96 = fadd <8 x float> %v87, %v95
  %v97 = add i64 %v86, 1
  %v98 = icmp slt i64 %v97, %v82
  br i1 %v98, label %b83, label %b84, !llvm.loop !2
b84:
  %v99 = phi <8 x float> [ splat (float 0x0000000000000000), %b68 ], [ %v96, %b83 ]
  %v100 = fadd <8 x float> %v72, %v99
  %v101 = add i64 %v71, 1
  %v102 = icmp slt i64 %v101, %v67
  br i1 %v102, label %b68, label %b69, !llvm.loop !3
b69:
  %v103 = phi <8 x float> [ splat (float 0x0000000000000000), %b42 ], [ %v100, %b84 ]
  %v104 = fadd <8 x float> %v45, %v103
  %v105 = add i64 %v44, 1
  %v106 = icmp slt i64 %v105, 2
  br i1 %v106, label %b42, label %b43, !llvm.loop !4
b43:
  %v107 = fadd <8 x float> %v33, %v104
  %v108 = add i64 %v32, 1
  %v109 = icmp slt i64 %v108, 2
  br i1 %v109, label %b30, label %b31, !llvm.loop !5
b31:
  %v110 = fadd <8 x float> %v21, %v107
  %v111 = add i64 %v20, 1
  %v112 = icmp slt i64 %v111, 2
  br i1 %v112, label %b18, label %b19, !llvm.loop !6
b19:
  %v113 = fadd <8 x float> %v12, %v110
  %v114 = add i64 %v11, 1
  %v115 = icmp slt i64 %v114, 2
  br i1 %v115, label %b9, label %b10, !llvm.loop !7
b10:
  %v118 = getelementptr inbounds float, ptr %v117, i64 %v8
  store <8 x float> %v113, ptr %v118, align 4
  %v119 = add i64 %v8, 8
  %v120 = icmp slt i64 %v119, %v4
  br i1 %v120, label %b5, label %b6, !llvm.loop !8
b6:
  %v121 = sub i64 %v2, %v4
  %v122 = icmp sgt i64 %v121, 0
  br i1 %v122, label %b123, label %b124
b123:
  %v125 = trunc i64 %v121 to i32
  %v126 = insertelement <8 x i32> poison, i32 %v125, i64 0
  %v127 = shufflevector <8 x i32> %v126, <8 x i32> poison, <8 x i32> zeroinitializer
  %v128 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %v127
  br label %b129
b129:
  %v131 = phi i64 [ 0, %b123 ], [ %v208, %b137 ]
  %v132 = phi <8 x float> [ splat (float 0x0000000000000000), %b123 ], [ %v207, %b137 ]
  %v133 = mul i64 %v131, %v14
  %v134 = add i64 %v4, %v133
  %v135 = mul i64 %v131, -1
  br label %b136
b136:
  %v138 = phi i64 [ 0, %b129 ], [ %v205, %b145 ]
  %v139 = phi <8 x float> [ splat (float 0x0000000000000000), %b129 ], [ %v204, %b145 ]
  %v140 = mul i64 %v138, %v23
  %v141 = add i64 %v134, %v140
  %v142 = mul i64 %v138, %v27
  %v143 = add i64 %v135, %v142
  br label %b144
b144:
  %v146 = phi i64 [ 0, %b136 ], [ %v202, %b153 ]
  %v147 = phi <8 x float> [ splat (float 0x0000000000000000), %b136 ], [ %v201, %b153 ]
  %v148 = mul i64 %v146, %v35
  %v149 = add i64 %v141, %v148
  %v150 = mul i64 %v146, %v39
  %v151 = add i64 %v143, %v150
  br label %b152
b152:
  %v154 = phi i64 [ 0, %b144 ], [ %v199, %b169 ]
  %v155 = phi <8 x float> [ splat (float 0x0000000000000000), %b144 ], [ %v198, %b169 ]
  %v156 = mul i64 %v154, %v47
  %v157 = add i64 %v149, %v156
  %v158 = mul i64 %v154, %v51
  %v159 = add i64 %v151, %v158
  %v160 = add i64 %v159, %v55
  %v161 = udiv i64 %v160, 16
  %v162 = add i64 %v161, %v59
  %v163 = add i64 %v162, %v62
  %v164 = udiv i64 %v163, 16
  %v165 = icmp sgt i64 %v164, 0
  %v166 = select i1 %v165, i64 %v164, i64 0
  %v167 = add i64 0, %v166
  %v170 = icmp slt i64 0, %v167
  br i1 %v170, label %b168, label %b169
b168:
  %v171 = phi i64 [ 0, %b152 ], [ %v195, %b182 ]
  %v172 = phi <8 x float> [ splat (float 0x0000000000000000), %b152 ], [ %v194, %b182 ]
  %v173 = mul i64 %v171, %v74
  %v174 = add i64 %v157, %v173
  %v175 = mul i64 %v171, 16
  %v176 = sub i64 %v162, %v175
  %v177 = call i64 @llvm.smin.i64(i64 %v176, i64 16)
  %v178 = icmp sgt i64 %v177, 0
  %v179 = select i1 %v178, i64 %v177, i64 0
  %v180 = add i64 0, %v179
  %v183 = icmp slt i64 0, %v180
  br i1 %v183, label %b181, label %b182
b181:
  %v184 = phi i64 [ 0, %b168 ], [ %v191, %b181 ]
  %v185 = phi <8 x float> [ splat (float 0x0000000000000000), %b168 ], [ %v190, %b181 ]
  %v186 = mul i64 %v184, %v89
  %v187 = add i64 %v174, %v186
  %v188 = getelementptr float, ptr %v93, i64 %v187
  %v189 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %v188, i32 4, <8 x i1> %v128, <8 x float> zeroinitializer)
  %v190 = fadd <8 x float> %v185, %v189
  %v191 = add i64 %v184, 1
  %v192 = icmp slt i64 %v191, %v180
  br i1 %v192, label %b181, label %b182, !llvm.loop !9
b182:
  %v193 = phi <8 x float> [ splat (float 0x0000000000000000), %b168 ], [ %v190, %b181 ]
  %v194 = fadd <8 x float> %v172, %v193
  %v195 = add i64 %v171, 1
  %v196 = icmp slt i64 %v195, %v167
  br i1 %v196, label %b168, label %b169, !llvm.loop !10
b169:
  %v197 = phi <8 x float> [ splat (float 0x0000000000000000), %b152 ], [ %v194, %b182 ]
  %v198 = fadd <8 x float> %v155, %v197
  %v199 = add i64 %v154, 1
  %v200 = icmp slt i64 %v199, 2
  br i1 %v200, label %b152, label %b153, !llvm.loop !11
b153:
  %v201 = fadd <8 x float> %v147, %v198
  %v202 = add i64 %v146, 1
  %v203 = icmp slt i64 %v202, 2
  br i1 %v203, label %b144, label %b145, !llvm.loop !12
b145:
  %v204 = fadd <8 x float> %v139, %v201
  %v205 = add i64 %v138, 1
  %v206 = icmp slt i64 %v205, 2
  br i1 %v206, label %b136, label %b137, !llvm.loop !13
b137:
  %v207 = fadd <8 x float> %v132, %v204
  %v208 = add i64 %v131, 1
  %v209 = icmp slt i64 %v208, 2
  br i1 %v209, label %b129, label %b130, !llvm.loop !14
b130:
  %v210 = getelementptr float, ptr %v117, i64 %v4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v207, ptr %v210, i32 4, <8 x i1> %v128)
  br label %b124
b124:
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
