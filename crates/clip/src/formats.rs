//! The formats of clips.

/// The formats that ffmpeg may read, as its option `-format_whitelist` wants them: those of files that
/// are whole in themselves. Playlists and manifests (HLS, DASH, concat, IMF, SDP), patterns of file
/// names and devices are left out: such a file decides what else of this machine is opened.
pub(crate) const FORMATS: &str = "matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,avi,mpegts,mpeg,mpegvideo,m4v,\
h261,h263,h264,hevc,vc1,av1,obu,ivf,flv,asf,ogg,nut,mxf,gxf,lxf,dv,rm,yuv4mpegpipe,wtv,nsv,\
dnxhd,cavsvideo,mjpeg,gif,apng,swf,smk,bink,roq,4xm,ea,film_cpk,flic,thp,vmd,wc3movie,xmv,\
wav,w64,aiff,au,caf,flac,mp3,aac,ac3,eac3,dts,dtshd,truehd,mlp,loas,amr,amrnb,amrwb,ape,\
mpc,mpc8,tak,tta,wv,wve,voc,shn,gsm,g722,adx,aptx,sox,ircam,xwma";
