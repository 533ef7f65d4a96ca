//! Histograms, quantiles and their confidence.
